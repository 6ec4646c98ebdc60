"""The results of an evaluation as text: aligned tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from transduce.run.sweep import flow, show
from transduce.translator.batching import remarks

NAMES = {
    "correct": "an accepted answer",
    "search": "the model scores an answer higher: the search missed it",
    "model": "the model scores its own output as high or higher",
    "unfinished": "cut short at the maximum length",
}


def to_text(result: Mapping[str, Any]) -> str:
    """A line for each metric, and a table for each thing that was asked for beside them."""
    if "sweep" in result:
        return sweep_table(result)
    if "sentences" in result:
        return "\n".join(sentence_table(result["sentences"]))
    parts = [summary(result), *(show(result[key]) for key, show in SECTIONS.items() if key in result)]
    return "\n\n".join(parts)


def aligned(rows: Sequence[Sequence[str]], sides: str) -> str:
    """Columns of text, each to the left ("l") or to the right ("r")."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    )


def summary(result: Mapping[str, Any]) -> str:
    """Metric, value, interval where there is one, signature."""
    rows = [["examples", str(result["examples"]), "", ""]]
    for name, score in result["metrics"].items():
        note = f"  ({score['note']})" if "note" in score else ""
        rows.append([name, f"{score['value']:.4f}", interval(score), score["signature"] + note])
    if not any(row[2] for row in rows):
        return aligned([[name, value, signature] for name, value, _, signature in rows], "lrl")
    return aligned(rows, "lrll")


def interval(score: Mapping[str, Any]) -> str:
    return f"[{score['low']:.4f}, {score['high']:.4f}]" if "low" in score else ""


def attention_text(found: Mapping[str, Any]) -> str:
    share = f"{found['position_0_share']:.1%} of {found['rows']} output tokens peak there"
    weight = f"mean weight {found['position_0_weight']:.4f}, uniform {found['uniform_weight']:.4f}"
    return f"attention at source position 0: {share}; {weight}"


def length_table(buckets: Sequence[Mapping[str, Any]]) -> str:
    names = list(buckets[0]["metrics"])
    rows = [["source length", "lines", *names]]
    for bucket in buckets:
        values = [f"{bucket['metrics'][name]['value']:.4f}" for name in names]
        rows.append([f"{bucket['shortest']}–{bucket['longest']}", str(bucket["lines"]), *values])
    return aligned(rows, "l" + "r" * (1 + len(names)))


def comparison_table(found: Mapping[str, Any]) -> str:
    rows = [["metric", "this", found["other"], "difference", "95 % interval", "p-value"]]
    for name, metric in found["metrics"].items():
        values = [f"{metric[side]['value']:.4f}" for side in ("first", "second")]
        difference, p_value = f"{metric['difference']:+.4f}", f"{metric['p_value']:.4f}"
        rows.append([name, *values, difference, interval(metric), p_value])
    return aligned(rows, "lrrrlr")


def errors_table(found: Mapping[str, Any]) -> str:
    rows = [["errors", "lines", ""]]
    rows += [[kind, str(count), NAMES[kind]] for kind, count in found["counts"].items()]
    return aligned(rows, "lrl")


def alignment_table(found: Mapping[str, Any]) -> str:
    rows = [[name, f"{found[name]:.4f}", ""] for name in ("aer", "precision", "recall")]
    rows[0][2] = f"{found['signature']}  ({found['links']} links, {found['sure']} sure ones in the gold)"
    return aligned(rows, "lrl")


def batching_text(found: Mapping[str, Any]) -> str:
    return "\n".join(remarks(found))


def int8_table(found: Mapping[str, Any]) -> str:
    rows = [["metric", "float32", "int8", "difference"]]
    for name, score in found["metrics"].items():
        before, after = score["float32"], score["int8"]
        rows.append([name, f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}"])
    share = f"{found['differing'] / found['lines']:.2%}"
    return f"{aligned(rows, 'lrrr')}\noutputs that differ: {found['differing']} of {found['lines']} ({share})"


def sweep_table(result: Mapping[str, Any]) -> str:
    """A row for each combination, the best marked with a star."""
    rows, names = result["sweep"], list(result["sweep"][0]["metrics"])
    table = [["", *rows[0]["settings"], *names]]
    for row in rows:
        values = [f"{row['metrics'][name]['value']:.4f}" for name in names]
        table.append(["*" if row["best"] else "", *map(flow, row["settings"].values()), *values])
    head = f"{result['examples']} examples of {result['data']}"
    sides = "l" * (1 + len(rows[0]["settings"])) + "r" * len(names)
    return "\n\n".join((head, aligned(table, sides), best_line(rows, result["select"])))


def best_line(rows: Sequence[Mapping[str, Any]], chosen: str) -> str:
    best = next(row for row in rows if row["best"])
    same = [row for row in rows if row["metrics"][chosen]["value"] == best["metrics"][chosen]["value"]]
    equals = f"  (the first of {len(same)} equals)" if len(same) > 1 else ""
    return f"best by {chosen}: {show(best['settings'])}{equals}"


def sentence_table(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """TSV with a header; a tab or line end within a text is shown as a space."""
    names, most = list(lines[0]["scores"]), max(len(line["references"]) for line in lines)
    scores, further = (f"sentence_{name}" for name in names), (f"reference_{n}" for n in range(2, most + 1))
    yield "\t".join(["line", *scores, "source", "hypothesis", "reference", *further])
    for line in lines:
        values = [f"{line['scores'][name]['value']:.4f}" for name in names]
        texts = [line["source"] or "", line["hypothesis"], *line["references"]]
        texts += [""] * (most - len(line["references"]))
        yield "\t".join([str(line["line"]), *values, *map(plain_cell, texts)])


def plain_cell(text: str) -> str:
    return text.translate({ord(mark): " " for mark in "\t\n\r"})


SECTIONS: Mapping[str, Callable[[Any], str]] = {
    "attention": attention_text,
    "by_length": length_table,
    "comparison": comparison_table,
    "errors": errors_table,
    "alignment": alignment_table,
    "batching": batching_text,
    "int8": int8_table,
}

"""The proof of resumption proves, and finds what is wrong."""

import pytest
import torch

from tests.tiny import experiment
from transduce.errors import TrainingError
from transduce.run import train as train_module
from transduce.run.verify import UPDATES, verify_resume


@pytest.mark.parametrize("workers", [0, 2])
def test_an_experiment_with_dropout_resumes_bit_for_bit(workers):
    said = []
    config = experiment("model.encoder.dropout=0.4", "train.moving_average=0.9", f"train.workers={workers}")
    found = verify_resume(config, say=said.append)
    assert found.startswith(f"resumed at update 10 of {UPDATES}: all ")
    assert said == [
        "trains 20 updates without a stop",
        "trains 10 updates, stops, and goes on to 20",
    ]


def test_a_resume_that_forgets_something_is_found_out(monkeypatch):
    resume = train_module.resume

    def forgetful(*arguments):
        found = resume(*arguments)
        torch.manual_seed(5)
        return found

    monkeypatch.setattr(train_module, "resume", forgetful)
    with pytest.raises(
        TrainingError, match=r"resumed at update 3: \d+ of \d+ things differ from the unbroken run"
    ):
        verify_resume(experiment("model.encoder.dropout=0.4"), updates=6)

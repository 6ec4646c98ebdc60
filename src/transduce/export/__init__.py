"""Trained models as ONNX graphs, for runtimes without torch or Python."""

from transduce.export.folder import export

__all__ = ["export"]

"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import Optional

__all__ = ["Error"]


class Error(ValueError):
    """What a model, a network, a sample or a file was refused for.

    The text is the one that the command `intaglio` prints. The attributes are None where the fault is about no such
    thing.
    """

    status: Optional[str] = None
    """The library's name of the fault, such as 'kBadScale'."""
    node: Optional[str] = None
    """The node that it is about."""
    node_index: Optional[int] = None
    tensor: Optional[str] = None
    """The tensor that it is about."""
    tensor_index: Optional[int] = None
    value: Optional[int] = None
    """What was found."""
    limit: Optional[int] = None
    """What was needed or allowed."""


class WrongUse(Error):
    """Options that the command does not take together, or that have values which it does not take."""

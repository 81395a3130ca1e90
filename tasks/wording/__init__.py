"""What lessons say: frames of ours around the person's own words, and what must be held back."""

from tasks.wording.lessons import (
    Held,
    Unworded,
    Word,
    Worded,
    Wording,
    checked,
    speaking,
    spoken,
    word,
)
from tasks.wording.remedies import lesson_class, stands_apart
from tasks.wording.spans import Form, content_words, open_question
from tasks.wording.templates import Unfit, filled, found_in, frames
from tasks.wording.unsafe import neutralised, unsafe

__all__ = [
    "Form",
    "Held",
    "Unfit",
    "Unworded",
    "Word",
    "Worded",
    "Wording",
    "checked",
    "content_words",
    "filled",
    "found_in",
    "frames",
    "lesson_class",
    "neutralised",
    "open_question",
    "speaking",
    "spoken",
    "stands_apart",
    "unsafe",
    "word",
]

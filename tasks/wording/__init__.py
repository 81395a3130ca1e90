"""What lessons say: frames of ours around the person's own words, and what must be held back."""

from tasks.wording.lessons import Held, Unworded, Worded, Wording, word
from tasks.wording.remedies import lesson_class, stands_apart
from tasks.wording.spans import open_question
from tasks.wording.unsafe import neutralised, unsafe

__all__ = [
    "Held",
    "Unworded",
    "Worded",
    "Wording",
    "lesson_class",
    "neutralised",
    "open_question",
    "stands_apart",
    "unsafe",
    "word",
]

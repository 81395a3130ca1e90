"""The deterministic detectors: corrections, refusals, errors, surprises and offers of a session."""

from tasks.evidence.detectors.commands import command_of
from tasks.evidence.detectors.failures import telling
from tasks.evidence.detectors.findings import (
    Answer,
    Correction,
    Environment,
    Error,
    Findings,
    Offer,
    OfferKind,
    RefusedCall,
    Surprise,
)
from tasks.evidence.detectors.offers import answered, kind_of, offered
from tasks.evidence.detectors.reading import Exchange, Reading, read
from tasks.evidence.detectors.session import detect, exchanges
from tasks.evidence.detectors.text import gapped, own_words

__all__ = [
    "Answer",
    "Correction",
    "Environment",
    "Error",
    "Exchange",
    "Findings",
    "Offer",
    "OfferKind",
    "Reading",
    "RefusedCall",
    "Surprise",
    "answered",
    "command_of",
    "detect",
    "exchanges",
    "gapped",
    "kind_of",
    "offered",
    "own_words",
    "read",
    "telling",
]

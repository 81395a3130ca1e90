"""Which writing model is in use: the environment's, else the one that `everest model` chose."""

from __future__ import annotations

from typing import Final

from tasks.errors import SettingInvalid
from tasks.llm.choice import Choice, read_choice
from tasks.llm.client import Budget, Client
from tasks.llm.keys import key_of_choice, key_of_environment
from tasks.llm.server import Api, Server, base_of
from tasks.settings import Places, Settings

OFF: Final = "off"


def client_of(settings: Settings, places: Places) -> Client | None:
    """Return the client of the writing model for one run, None when there is none.

    Raises:
        SettingInvalid: when what is set cannot be used.
    """
    if settings.llm == OFF:
        return None
    choice = read_choice(places.model)
    model = settings.llm or (choice.writer if choice else None)
    if settings.llm_url is None and (model is None or choice is None):
        if settings.llm is None:
            return None
        why = "names a model and no server does; set EVEREST_LLM_URL, or run `everest model`"
        raise SettingInvalid("EVEREST_LLM", why)
    if not model:
        raise SettingInvalid("EVEREST_LLM_URL", "names a server and no model; set EVEREST_LLM too")
    budget = Budget(settings.llm_calls, settings.llm_seconds, settings.llm_timeout)
    return Client(_server(settings, places, choice), model, budget)


def _server(settings: Settings, places: Places, choice: Choice | None) -> Server:
    if settings.llm_url is not None or choice is None:
        base = base_of(settings.llm_url or "", "EVEREST_LLM_URL")
        return Server(base, Api.OPENAI, key_of_environment(settings))
    return Server(choice.server, choice.api, key_of_choice(settings, places))

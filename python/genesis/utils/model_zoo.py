"""The deprecated location of ``hub.load_state_dict_from_url``."""

from typing import Any

from genesis import hub
from genesis._missing import MissingName
from genesis.hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return hub.tqdm
    raise MissingName(__name__, name)

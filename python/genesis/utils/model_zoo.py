"""The old place of ``hub.load_state_dict_from_url``."""

from genesis.hub import load_state_dict_from_url

__all__ = ["load_url"]

load_url = load_state_dict_from_url

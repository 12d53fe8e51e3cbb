"""ALFWorld's household games on our own engine."""

from collegium.environments.household.engine import Household
from collegium.environments.household.formats import DOMAIN_DIGEST, GRAMMAR_DIGEST
from collegium.environments.household.game import ENGINE, Game
from collegium.environments.household.loading import load_game, load_game_text, parse_game
from collegium.environments.household.store import GameStore, unpack_games
from collegium.environments.household.translate import translate_action
from collegium.environments.household.wording import Grammar

__all__ = [
    "DOMAIN_DIGEST",
    "ENGINE",
    "GRAMMAR_DIGEST",
    "Game",
    "GameStore",
    "Grammar",
    "Household",
    "load_game",
    "load_game_text",
    "parse_game",
    "translate_action",
    "unpack_games",
]

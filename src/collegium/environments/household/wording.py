"""The two command grammars. Everything that they word alike stays in the engine."""

from enum import StrEnum


class Grammar(StrEnum):
    """How commands and answers are worded; rows of different grammars are never mixed."""

    CURRENT = "alfworld-0.4"
    """`move X to Y`, answers to `go to` begin with "You arrive at"."""
    OLD = "alfworld-0.3"
    """`put X in/on Y`, no arrival sentence, no `help`."""


WELCOME = "-= Welcome to TextWorld, ALFRED! =-"
TASK_PREFIX = "Your task is to: "
NOTHING_HAPPENS = "Nothing happens."
ROOM = "You are in the middle of a room. Looking quickly around you, you see "
HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""

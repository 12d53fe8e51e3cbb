"""Bundles: folders that travel whole, with digests, to a fsspec path or a Hugging Face repository.

`bundle.json` names the kind, the name and the SHA-256 of every file. It is written last, or in one
commit with the files, so that a place either holds a whole bundle or none; whoever pulls one checks
every file and sees the folder appear whole or not at all.
"""

from collegium.store.bundles.hub import HubPlace
from collegium.store.bundles.places import PathPlace, Place
from collegium.store.bundles.record import Bundle
from collegium.store.bundles.transfer import Pushed, open_place, pull, push

__all__ = ["Bundle", "HubPlace", "PathPlace", "Place", "Pushed", "open_place", "pull", "push"]

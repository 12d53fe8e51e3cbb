"""The key and the anchor: made once, closed to others, never going back."""

import json

import pytest

from collegium.core import ConfigError, CorruptDataError, NotFoundError
from collegium.store.ledger.signing import KeyFolder, Signed, fingerprint, is_signed, sign


@pytest.fixture
def keys(tmp_path):
    return KeyFolder(tmp_path / "keys")


def anchor(number):
    return Signed(document=json.dumps({"number": number}), signature="")


def test_a_key_is_made_once(keys):
    with pytest.raises(NotFoundError, match="COLLEGIUM_KEYS"):
        keys.key()
    key = keys.key(create=True)
    assert fingerprint(keys.key(create=True)) == fingerprint(key)
    assert keys.key_file.stat().st_mode & 0o777 == 0o600


def test_a_signature_holds_for_its_document_and_key_only(keys, tmp_path):
    key = keys.key(create=True)
    signed = sign(key, "document")
    assert is_signed(key, signed)
    assert not is_signed(key, signed.model_copy(update={"document": "another"}))
    assert not is_signed(key, signed.model_copy(update={"signature": "no hex"}))
    other = KeyFolder(tmp_path / "other").key(create=True)
    assert not is_signed(other, signed)


def test_the_anchor_never_goes_back(keys):
    keys.key(create=True)
    assert keys.anchor() is None
    for number in (1, 3, 2):
        keys.set_anchor(anchor(number), number)
    assert keys.anchor() == anchor(3)
    aside = keys.drop_anchor()
    assert aside.exists()
    assert keys.anchor() is None
    assert keys.drop_anchor() is None


@pytest.mark.parametrize("content", ["", "no key", "-----BEGIN PRIVATE KEY-----\n"])
def test_a_damaged_key_is_told(keys, content):
    keys.key(create=True)
    keys.key_file.write_text(content)
    with pytest.raises(CorruptDataError, match="holds no key"):
        keys.key()


def test_a_damaged_anchor_is_told(keys):
    keys.key(create=True)
    keys.anchor_file.write_text("{")
    with pytest.raises(CorruptDataError, match=r"anchor\.json is damaged"):
        keys.anchor()


def test_a_key_that_others_may_read_is_refused(keys):
    keys.key(create=True)
    keys.key_file.chmod(0o640)
    with pytest.raises(ConfigError, match="mode 0640"):
        keys.key()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="COLLEGIUM_KEYS"):
        KeyFolder(tmp_path / "file" / "keys").key(create=True)

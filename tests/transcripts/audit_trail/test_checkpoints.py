"""What a signed statement, kept elsewhere, shows of a trail whose owner rewrites it."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from django.core.management import CommandError, call_command

from tests.transcripts.audit_trail.test_trail import STREAM, as_a_forger, record
from transcripts.audit_trail import trail
from transcripts.audit_trail.models import AuditEvent
from transcripts.audit_trail.pure import hash_link

PEM = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class Keeper:
    """The keeper of the checkpoints: a folder and two keys that the owner of the database lacks."""

    def __init__(self, folder):
        self.folder = folder / "kept"
        self.folder.mkdir()
        self.private, self.public = folder / "key.pem", folder / "key.pub"
        self.give(Ed25519PrivateKey.generate())

    def give(self, key):
        self.private.write_bytes(key.private_bytes(*PEM))
        self.public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))

    def check(self):
        call_command("audit", "checkpoint", str(self.folder), key=self.private)

    def find_problems(self):
        """What `audit verify` complains about; "" when it is content."""
        try:
            call_command("audit", "verify", checkpoints=self.folder, public_key=self.public)
        except CommandError as error:
            return str(error)
        return ""


@pytest.fixture
def keeper(db, tmp_path):
    """A trail of two streams, checked twice, with events since."""
    keeper = Keeper(tmp_path)
    trail.record("test.done", target="x", by=trail.SYSTEM, stream="test:2")
    for number in range(1, 7):
        record(number, number=number)
        if number in {3, 5}:
            keeper.check()
    return keeper


def test_a_trail_that_only_grew_agrees(keeper):
    assert keeper.find_problems() == ""
    assert [path.name for path in sorted(keeper.folder.iterdir())] == [
        "checkpoint-000001.json",
        "checkpoint-000002.json",
    ]


def cut_tail():
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = %s AND sequence > 4", [STREAM])
    head = AuditEvent.objects.get(stream=STREAM, sequence=4).hash
    as_a_forger("UPDATE audit_trail_audithead SET sequence = 4, hash = %s WHERE stream = %s", [head, STREAM])


def rewrite_chain():
    """Change the second event, and compute every later hash anew with the program's own code."""
    as_a_forger("UPDATE audit_trail_auditevent SET actor_name = 'eve' WHERE stream = %s AND sequence = 2", [STREAM])
    previous = ""
    for link, _, before in list(trail.read_entries(STREAM)):
        digest = hash_link(link._replace(details=json.loads(str(link.details))), previous)
        as_a_forger(
            "UPDATE audit_trail_auditevent SET previous_hash = %s, hash = %s WHERE hash = %s",
            [previous, digest, before],
        )
        previous = digest
    as_a_forger("UPDATE audit_trail_audithead SET hash = %s WHERE stream = %s", [previous, STREAM])


def delete_stream():
    as_a_forger("DELETE FROM audit_trail_auditevent WHERE stream = 'test:2'")
    as_a_forger("DELETE FROM audit_trail_audithead WHERE stream = 'test:2'")


@pytest.mark.parametrize(
    ("tamper", "words"),
    [
        (cut_tail, "checkpoint-000002.json of .* includes event 5 of test:1, which is no longer there"),
        (rewrite_chain, "checkpoint-000001.json of .* has another hash for event 3 of test:1"),
        (delete_stream, "includes event 1 of test:2, which is no longer there"),
    ],
)
def test_what_the_chain_alone_does_not_show_is_found(keeper, tamper, words):
    tamper()
    assert all(first_break is None for _, _, first_break in trail.verify_streams())
    with pytest.raises(CommandError, match=words):
        call_command("audit", "verify", checkpoints=keeper.folder, public_key=keeper.public)


def test_a_changed_checkpoint_is_not_believed(keeper):
    path = keeper.folder / "checkpoint-000001.json"
    content = json.loads(path.read_text())
    content["streams"][STREAM][0] = 2
    path.write_text(json.dumps(content))
    assert "checkpoint-000001.json: its signature does not belong to this key" in keeper.find_problems()
    path.write_text("{}")
    assert "it is not a checkpoint, or it is damaged" in keeper.find_problems()


def test_a_checkpoint_that_was_taken_away_is_missed(keeper):
    (keeper.folder / "checkpoint-000001.json").unlink()
    assert "checkpoint-000001.json is missing" in keeper.find_problems()


def test_a_checkpoint_signed_by_somebody_else_is_not_believed(keeper):
    public = keeper.public.read_bytes()
    keeper.give(Ed25519PrivateKey.generate())
    keeper.check()
    keeper.public.write_bytes(public)
    assert "checkpoint-000003.json: its signature" in keeper.find_problems()


def test_wrong_use_is_told_in_a_sentence(keeper, tmp_path):
    with pytest.raises(CommandError, match="go together"):
        call_command("audit", "verify", checkpoints=keeper.folder)
    with pytest.raises(CommandError, match="There is no checkpoint in"):
        call_command("audit", "verify", checkpoints=tmp_path, public_key=keeper.public)
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("audit", "checkpoint", str(keeper.folder), key=tmp_path / "nowhere.pem")
    with pytest.raises(CommandError, match="No checkpoint was written"):
        call_command("audit", "checkpoint", str(tmp_path / "nowhere"), key=keeper.private)
    other = tmp_path / "rsa.pem"
    other.write_bytes(generate_private_key(65537, 2048).private_bytes(*PEM))
    for path, words in ((keeper.public, "not a private key in PEM"), (other, "not an Ed25519 key")):
        with pytest.raises(CommandError, match=words):
            call_command("audit", "checkpoint", str(keeper.folder), key=path)

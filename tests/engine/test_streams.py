"""Streams that are handed out start by a hash that cannot be run backwards."""

from __future__ import annotations

import numpy as np
import pytest

from german_whist.agents.base import decision_streams
from german_whist.engine.game import Game
from german_whist.engine.rng import fresh_secret, key_of_bytes, secret_of_seed, siphash

# SipHash-2-4 of the bytes 0, 1, 2 ... under the key of the bytes 0 to 15: the published values
# for messages of 0 to 16 bytes.
PUBLISHED = [
    0x726FDB47DD0E0E31,
    0x74F839C593DC67FD,
    0x0D6C8009D9A94F5A,
    0x85676696D7FB7E2D,
    0xCF2794E0277187B7,
    0x18765564CD99A68D,
    0xCBC9466E58FEE3CE,
    0xAB0200F58B01D137,
    0x93F5F5799A932462,
    0x9E0082DF0BA9E4B0,
    0x7A5DBBC594DDB9F3,
    0xF4B32F46226BADA7,
    0x751E8FBC860EE5FB,
    0x14EA5627C0843D90,
    0xF723CA908E7AF2EE,
    0xA129CA6149BE45E5,
    0x3F2ACC7F57C29BDB,
]
KEY = bytes(range(16))
ALL = (1 << 64) - 1


def halves(data: bytes) -> tuple[bytes, bytes]:
    return data[:8], data[8:]


def plain_siphash(key: bytes, message: bytes) -> int:
    k = 2 * [int.from_bytes(part, "little") for part in halves(key)]
    words = b"somepseu", b"dorandom", b"lygenera", b"tedbytes"
    v = [number ^ int.from_bytes(word, "big") for number, word in zip(k, words, strict=True)]

    def turn(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & ALL

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & ALL
            v[2] = (v[2] + v[3]) & ALL
            v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
            v[0] = (turn(v[0], 32) + v[3]) & ALL
            v[2] = (v[2] + v[1]) & ALL
            v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_siphash_matches_the_published_values() -> None:
    assert [plain_siphash(KEY, bytes(range(n))) for n in range(17)] == PUBLISHED
    chance = np.random.default_rng(1)
    random = [(chance.bytes(16), chance.bytes(16)) for _ in range(50)]
    for key, message in [(KEY, bytes(range(16))), *random]:
        first, second = (np.uint64(int.from_bytes(part, "little")) for part in halves(message))
        assert int(siphash(key_of_bytes(key), first, second)) == plain_siphash(key, message)


def test_keys_and_secrets_have_nothing_in_common() -> None:
    made = {secret_of_seed(seed, purpose) for seed in range(50) for purpose in ("agents", "other")}
    made.add(secret_of_seed(2**64 - 1, "agents"))
    assert len(made) == 101
    # For good: an environment's opponents draw the same for the same seed.
    assert secret_of_seed(7, "agents").hex() == "63d4fdb9dd28ce67e6e59495378d2183"
    assert len({fresh_secret() for _ in range(20)}) == 20
    with pytest.raises(ValueError, match="a key has 16 bytes, and 3 were given"):
        key_of_bytes(b"abc")


def test_decision_streams_hash_deal_seat_trick_and_phase() -> None:
    game, views, messages = Game(seed=4), [], []
    for number in range(30):
        seat = game.turn or 0
        view = game.view(seat).array
        views.append(view)
        place = 128 * seat + 4 * int(view["trick"][0]) + int(view["phase"][0])
        messages.append(number.to_bytes(8, "little") + place.to_bytes(8, "little"))
        game.play(game.legal()[0])
    for key in (KEY, bytes(16), fresh_secret()):
        streams = decision_streams(key_of_bytes(key), np.arange(30), np.concatenate(views))
        assert streams.tolist() == [plain_siphash(key, message) for message in messages]

"""Passwords: kept as argon2id hashes, so that anyone who steals the database has to guess slowly."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from discreet.core.optional import extra
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST = 10
_MOST = 1000
_READABLE = "abcdefghjkmnpqrstuvwxyz23456789"
_AT_ONCE = threading.BoundedSemaphore(4)
"""Largest number of hashes computed at a time, 64 MiB each."""


def one_time() -> str:
    """A password to be told once: 79 random bits in four groups, without letters that look like digits."""
    return "-".join("".join(_READABLE[SYSTEM.below(len(_READABLE))] for _ in range(4)) for _ in range(4))


def hashed(password: str) -> str:
    """What is kept of a password."""
    with _AT_ONCE:
        return _hasher().hash(_bytes(password))


def matches(kept: str | None, password: str) -> bool:
    """Whether this is the password that was kept. Takes as long if there is none (``None`` or empty): a dummy is tried
    instead."""
    with extra("serve"):
        from argon2.exceptions import InvalidHashError, VerificationError

    dummy = _dummy()
    try:
        with _AT_ONCE:
            _hasher().verify(kept or dummy, _bytes(password[:_MOST]))
    except (VerificationError, InvalidHashError):
        return False
    return bool(kept) and len(password) <= _MOST


def is_outdated(kept: str) -> bool:
    """Whether a hash was made with parameters that are no longer used."""
    return _hasher().check_needs_rehash(kept)


def require_strong(password: str, name: str) -> None:
    """An error if a password is among the first that anyone would try."""
    if not SHORTEST <= len(password) <= _MOST:
        raise BadInput(f"A password must have {SHORTEST} to {_MOST:,} characters.", hint=_BETTER)
    plain = password.casefold()
    if len(plain.replace(name.casefold(), "")) < SHORTEST - 4:
        raise BadInput("A password must not contain the user name.", hint=_BETTER)
    stem = re.sub(r"^[^a-z]+|[^a-z]+$", "", plain)
    if len(set(plain)) < 5 or _is_run(plain) or any(_is_common(_letters(t)) for t in (plain, stem.translate(_LEET))):
        raise BadInput("This password is too common.", hint=_BETTER)


_BETTER = "Four unrelated words are long and easy to remember."
_LEET = str.maketrans("0134578@$!", "oieastbasi")
_ROWS = ("01234567890", "09876543210", "abcdefghijklmnopqrstuvwxyz", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_KEYS = (
    *_ROWS,
    *(row[::-1] for row in _ROWS),
    "qazwsxedcrfvtgb",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb",
    "q1w2e3r4t5y6u7i8o9p0",
)


def _is_run(text: str) -> bool:
    """Whether a text is nothing but pieces, three keys or longer, of a keyboard's rows or the alphabet."""
    while text:
        taken = max((n for n in range(3, len(text) + 1) if any(text[:n] in row for row in _KEYS)), default=0)
        if not taken:
            return False
        text = text[taken:]
    return True


def _is_common(text: str) -> bool:
    """Whether a text is one of the commonest words of passwords, or two."""
    return any(text[:n] in _COMMON and (n == len(text) or text[n:] in _COMMON) for n in range(1, len(text) + 1))


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", text)


_WORDS = """
abc abcd abcde abcdef access admin administrator adobe alexander amanda america analyst andrea andrew angel angela
angels anthony apple april arsenal asdf asdfgh ashley auditor august austin babygirl bailey banana barcelona baseball
basketball batman beautiful biteme blahblah blink buster butterfly carlos changeit changeme charlie cheese chelsea
chicken chocolate christian clinic company computer cookie dallas daniel december default demo diamond discreet doctor
dolphin donald dragon eagle elizabeth eminem family february flower football forever freedom friday friends fuckyou
george ginger google guest hannah happy harley heaven hello hockey hospital hottie hunter iloveu iloveyou internet is
jackson january jasmine jennifer jessica jesus jordan joseph joshua july june junior justin killer kitty letmein
liverpool login london love lovely loveme lover madison maggie march marina master matrix matthew maverick may melissa
merlin michael michelle mickey midnight minecraft monday money monkey monster mustang my mynoob naruto new nicole
ninja nothing november october office old orange our pass passcode passphrase passwd password passwort patrick pepper
phoenix picture player please pokemon princess private purple qaz qazwsx qwe qwer qwert qwerty qwertyuiop qwertz
ranger robert root samantha samsung sarah saturday secret security september service shadow snoopy soccer sophie
spiderman spring starwars steward student summer sunday sunflower sunshine superman superuser system taylor temp test
tester testing the this thomas thunder thursday tigger tinkerbell trustno trustnoone tuesday user vanessa victoria
wednesday welcome whatever william windows winter wizard wsx xbox yellow your zxc zxcv zxcvb zxcvbn zxcvbnm
"""
_COMMON = frozenset(re.findall("[a-z]+", _WORDS))


@cache
def _hasher() -> PasswordHasher:
    with extra("serve"):
        from argon2 import PasswordHasher
    return PasswordHasher()


@cache
def _dummy() -> str:
    return hashed(one_time())


def _bytes(password: str) -> bytes:
    """The same for the same letters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password).encode(errors="surrogatepass")

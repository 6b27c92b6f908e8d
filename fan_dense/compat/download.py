"""Files that a path or URL names: kept in torch.hub's cache, whole or not at all, and compared with a SHA-256.

``https://.../name.pth#sha256=HEX``, or a path that ends so, asks for a file whose SHA-256 begins with ``HEX``. A URL
without it is taken by the name, as by torch.hub: ``resnet50-0676ba61.pth`` has the SHA-256 that begins with 0676ba61.
"""

import hashlib
import os
import re
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from filelock import FileLock
from mmengine.logging import print_log

CHUNK = 1 << 20
SILENCE = 60  # seconds without a byte, after which a server is given up
# at least one letter: digits alone are a date, as in model-20220624.pth
_HASH_IN_NAME = re.compile(r'-(?=\d*[a-f])([0-9a-f]{8,64})\.')


class FetchError(ValueError):
    """A file that cannot be had, or is not the one that was asked for."""


def fetch(source: str | os.PathLike) -> Path:
    """The file that a path or http(s) URL names. One from a URL is downloaded once, to ``torch.hub``'s folder.

    That folder is ``checkpoints`` in ``torch.hub.get_dir()``, which ``TORCH_HOME`` and ``XDG_CACHE_HOME`` move. Of
    several processes that ask at once, one downloads and the others wait.

    Raises:
        FileNotFoundError: There is no such file.
        FetchError: The digest is another, the URL cannot be reached, or the download broke off; nothing is kept then.
    """
    location, digest = split_digest(os.fspath(source))
    if not is_url(location):
        path = Path(location).expanduser()
        if not path.is_file():
            raise FileNotFoundError(f'checkpoint {location} does not exist')
        if digest and not (found := sha256(path)).startswith(digest):
            raise FetchError(_another_digest(location, digest, found))
        return path

    name = unquote(Path(urlsplit(location).path).name)
    if not name:
        raise FetchError(f'{location} names no file')
    if not digest and (match := _HASH_IN_NAME.search(name)):
        digest = match[1]
    path = _cache() / name
    if not _is_there(path, digest):  # it may be read-only, so no lock before that
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f'{path}.lock'):
                if not _is_there(path, digest):
                    _download(location, path, digest)
        except HTTPError as error:
            raise FetchError(f'{location} cannot be downloaded: HTTP {error.code} {error.reason}') from error
        except (OSError, HTTPException) as error:  # URLError, timeouts and broken connections are OSErrors
            reason = getattr(error, 'reason', None) or error
            raise FetchError(f'{location} cannot be downloaded to {path}: {reason}') from error
    return path


def split_digest(source: str) -> tuple[str, str]:
    """Path or URL without its ``#sha256=HEX``, and HEX in lower case or ''.

    Raises:
        FetchError: HEX is not 8 to 64 hexadecimal digits.
    """
    location, mark, digest = source.partition('#sha256=')
    if mark and not re.fullmatch('[0-9a-f]{8,64}', digest.lower()):
        raise FetchError(f'{source}: sha256 must be 8 to 64 hexadecimal digits, not {digest!r}')
    return location, digest.lower()


def is_url(location: str) -> bool:
    return location.startswith(('http://', 'https://'))


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    state = hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(CHUNK):
            state.update(block)
    return state.hexdigest()


def _cache() -> Path:
    import torch.hub  # takes its time to load

    return Path(torch.hub.get_dir()) / 'checkpoints'


def _is_there(path: Path, digest: str) -> bool:
    """Whether the file is there; one of that name with another digest is another file, from elsewhere."""
    return path.exists() and (not digest or sha256(path).startswith(digest))


def _download(url: str, path: Path, digest: str) -> None:
    """Download to a file beside ``path`` that takes its name once it is whole and right."""
    partial = path.with_name(f'{path.name}.partial')
    try:
        with urlopen(Request(url, headers={'User-Agent': 'fan_dense'}), timeout=SILENCE) as response:
            found = _receive(response, url, path, partial)
        if not found.startswith(digest):
            raise FetchError(_another_digest(url, digest, found))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _receive(response: HTTPResponse, url: str, path: Path, partial: Path) -> str:
    """Write what the server sends to ``partial``, and give its SHA-256."""
    expected, received, state = response.headers.get('Content-Length'), 0, hashlib.sha256()
    size = f' ({int(expected) / 1e6:.1f} MB)' if expected else ''
    print_log(f'downloading {url}{size} to {path}', logger='current')
    with open(partial, 'wb') as file:
        while block := response.read(CHUNK):
            file.write(block)
            state.update(block)
            received += len(block)
    if expected and received != int(expected):
        raise FetchError(f'{url} broke off after {received} of {expected} bytes; try again')
    return state.hexdigest()


def _another_digest(location: str, wanted: str, found: str) -> str:
    return (
        f'{location} is not the file that was asked for: its SHA-256 is {found}, not {wanted}'
        f'{"" if len(wanted) == 64 else "..."} (if it is right all the same, ask for {location}#sha256={found})'
    )

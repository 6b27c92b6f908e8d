"""Checkpoints by URL, from a server in this process: kept once and whole, and compared with their SHA-256."""

import hashlib
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from mmengine.runner.checkpoint import CheckpointLoader

from fan_dense.compat.download import FetchError, fetch
from fan_dense.models import FAN
from tests.models.published_files import save
from tests.models.small import HYBRID

CONTENT = b'weights, let us say'
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``files`` (path to bytes), promises ``missing`` more bytes than it sends, and counts requests."""

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.files, self.missing, self.requests = {}, 0, []

    def url(self, path: str, content: bytes = CONTENT) -> str:
        self.files[f'/{path}'] = content
        return f'http://127.0.0.1:{self.server_port}/{path}'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        path = self.path.partition('?')[0]
        if path not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[path]
        self.send_response(200)
        self.send_header('Content-Length', str(len(content) + self.server.missing))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs=dict(poll_interval=0.01))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder that downloads go to."""
    monkeypatch.setattr(torch.hub, '_hub_dir', None)
    monkeypatch.delenv('TORCH_HOME', raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    return tmp_path / 'torch' / 'hub' / 'checkpoints'


def kept(cache) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if path.suffix != '.lock')


def refusal(source) -> str:
    with pytest.raises(FetchError) as caught:
        fetch(source)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_downloaded_once(server, cache):
    url = server.url('v1.0/fan%20tiny.pth.tar')
    for source in (f'{url}?download=1', url, f'{url}#sha256={DIGEST}', f'{url}#sha256={DIGEST[:8].upper()}'):
        assert fetch(source) == cache / 'fan tiny.pth.tar'
    assert fetch(url).read_bytes() == CONTENT
    assert kept(cache) == ['fan tiny.pth.tar']
    assert server.requests == ['/v1.0/fan%20tiny.pth.tar?download=1']


def test_one_of_several_at_once_downloads(server, cache):
    url = server.url('fan.pth')
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(fetch, [url] * 8)) == {cache / 'fan.pth'}
    assert len(server.requests) == 1


def test_a_wrong_digest_keeps_nothing(server, cache):
    url = server.url('fan.pth')
    message = refusal(f'{url}#sha256={"0" * 64}')
    assert message.startswith(f'{url} is not the file that was asked for: its SHA-256 is {DIGEST}, not 0000')
    assert kept(cache) == []
    assert fetch(f'{url}#sha256={DIGEST}').read_bytes() == CONTENT


def test_a_file_of_that_name_from_elsewhere_is_replaced_only_by_the_right_one(server, cache):
    cache.mkdir(parents=True)
    (cache / 'fan.pth').write_bytes(b'other')
    url = server.url('fan.pth')
    refusal(f'{url}#sha256={"0" * 8}')
    assert (cache / 'fan.pth').read_bytes() == b'other'
    assert fetch(f'{url}#sha256={DIGEST}').read_bytes() == CONTENT


def test_the_digest_in_a_name(server, cache):
    assert fetch(server.url(f'fan-{DIGEST[:8]}.pth')).read_bytes() == CONTENT
    wrong = server.url('fan_20220624-02e5a6a1.pth')
    assert f'its SHA-256 is {DIGEST}, not 02e5a6a1...' in refusal(wrong)
    assert fetch(f'{wrong}#sha256={DIGEST}').read_bytes() == CONTENT  # the more explicit one counts
    assert fetch(server.url('fan-20220624.pth')).read_bytes() == CONTENT  # a date


def test_a_download_that_breaks_off_keeps_nothing(server, cache):
    url = server.url('fan.pth')
    server.missing = 10
    message = refusal(url)
    assert message.startswith(url)
    assert kept(cache) == []
    server.missing = 0
    assert fetch(url).read_bytes() == CONTENT


def test_what_cannot_be_reached(server, cache):
    assert refusal(server.url('')[:-1] + '/none.pth').endswith('none.pth cannot be downloaded: HTTP 404 Not Found')
    assert 'names no file' in refusal('https://example.org/')
    url = server.url('fan.pth')
    server.shutdown()
    server.server_close()
    assert f'{url} cannot be downloaded to {cache}/fan.pth: ' in refusal(url)
    assert kept(cache) == []


def test_local_files(tmp_path):
    path = tmp_path / 'fan.pth'
    with pytest.raises(FileNotFoundError, match=r'fan\.pth does not exist'):
        fetch(path)
    path.write_bytes(CONTENT)
    assert fetch(path) == fetch(f'{path}#sha256={DIGEST}') == path
    assert f'{path} is not the file that was asked for' in refusal(f'{path}#sha256={"0" * 64}')
    assert "must be 8 to 64 hexadecimal digits, not 'abc'" in refusal(f'{path}#sha256=abc')


def test_pretrained_by_url(server, cache, tmp_path):
    """In a config, and wherever else mmengine loads checkpoints."""
    source = FAN(HYBRID)
    content = Path(save(source.state_dict(), tmp_path / 'x.pth')).read_bytes()
    url = f'{server.url("fan.pth.tar", content)}#sha256={hashlib.sha256(content).hexdigest()}'
    net = FAN(HYBRID, init_cfg=dict(type='Pretrained', checkpoint=url))
    net.init_weights()
    torch.testing.assert_close(net.state_dict(), source.state_dict(), rtol=0, atol=0)
    assert CheckpointLoader.load_checkpoint(url)['metric'] == 83.5
    assert len(server.requests) == 1
    with pytest.raises(FetchError, match=r'not the file that was asked for'):
        CheckpointLoader.load_checkpoint(f'{url[:-8]}00000000')

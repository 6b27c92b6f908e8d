import pytest

from fan_dense import checks, cli


class OurError(ValueError):
    """Named like those of fan_dense.datasets.check, but from elsewhere."""


def run(function, *argv):
    return cli.run(function, cli.Parser('test'), list(argv))


def raising(error):
    def command(args):
        raise error

    return command


def test_success_is_silent(capsys):
    assert run(lambda args: None) == 0
    assert capsys.readouterr() == ('', '')


def test_an_error_of_ours_is_its_message(capsys):
    assert run(lambda args: checks.one_of('colour', 'gren', ['green'])) == 2
    assert capsys.readouterr().err == "error: colour is 'gren'; it must be one of 'green'\n"


@pytest.mark.parametrize(
    ('error', 'line'),
    [
        (KeyError('lr'), 'KeyError: lr'),
        (OSError(28, 'No space left'), 'OSError: [Errno 28] No space left'),
        (RuntimeError('first line\nsecond line'), 'RuntimeError: first line'),
        (AssertionError(), 'AssertionError: '),
    ],
)
def test_an_error_of_a_library_is_one_line_with_a_hint(capsys, error, line):
    assert run(raising(error)) == 2
    assert capsys.readouterr().err == f'error: {line} (--traceback shows where)\n'


def test_an_error_in_a_worker_is_its_last_line():
    text = 'Caught DataError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n  File "x"\n'
    ours = OurError(f'{text}fan_dense.datasets.check.DataError: image x.png is truncated\n')
    assert cli.one_line(ours) == 'image x.png is truncated'
    assert cli.one_line(KeyError(f"{text}KeyError: 'img'\n")) == "KeyError: 'img' (--traceback shows where)"


def test_what_mmengine_puts_in_front_is_taken_off():
    def build():  # as mmengine's registry does
        try:
            checks.one_of('arch', 'x', ['a'])
        except ValueError as error:
            raise ValueError(f'class `FAN` in fan_dense/models/fan.py: {error}')  # noqa: B904

    with pytest.raises(ValueError, match='class') as caught:
        build()
    assert cli.one_line(caught.value) == "arch is 'x'; it must be one of 'a'"


def test_an_unregistered_type_gets_the_nearest_names():
    from mmengine.registry import MODELS

    import fan_dense.models  # noqa: F401

    with pytest.raises(KeyError) as caught:
        MODELS.build(dict(type='FANN'))
    assert cli.one_line(caught.value).startswith("KeyError: unknown model 'FANN'; did you mean FAN")


def test_a_traceback_on_request(monkeypatch):
    with pytest.raises(KeyError):
        run(raising(KeyError('lr')), '--traceback')
    monkeypatch.setenv('FAN_DENSE_DEBUG', '1')
    with pytest.raises(KeyError):
        run(raising(KeyError('lr')))


def test_an_interruption_is_quiet(capsys):
    assert run(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == 'interrupted\n'


def test_complaints_about_the_command_line_are_one_line(capsys):
    with pytest.raises(SystemExit) as caught:
        run(lambda args: None, '--nonsense')
    assert caught.value.code == 2
    assert capsys.readouterr().err.count('\n') == 1


def test_options_keep_their_types(capsys):
    parser = cli.Parser('test')
    parser.add_argument('--cfg-options', nargs='+', action=cli.Options)
    args = parser.parse_args(['--cfg-options', 'a.b=1', 'c=[1,2]', 'd=x', '+e=True', 'f=0.5'])
    assert args.cfg_options == {'a.b': 1, 'c': [1, 2], 'd': 'x', '+e': True, 'f': 0.5}
    with pytest.raises(SystemExit):
        parser.parse_args(['--cfg-options', 'a.b'])
    assert capsys.readouterr().err.startswith("error: --cfg-options wants KEY=VALUE, got 'a.b'")


@pytest.mark.parametrize('text', ['-1', '1', 'two', '1.5', ''])
def test_whole_numbers_below_the_smallest_are_refused(text, capsys):
    parser = cli.Parser('')
    parser.add_argument('--workers', type=cli.at_least(2))
    assert parser.parse_args(['--workers', '2']).workers == 2
    with pytest.raises(SystemExit):
        parser.parse_args([f'--workers={text}'])
    assert f"argument --workers: '{text}' is not a whole number, 2 or larger" in capsys.readouterr().err

"""The table of operators: complete, in agreement with its documentation, and honest about what is absent."""

import ast
import re
from importlib.metadata import distribution
from pathlib import Path

import mmcv
import pytest

from fan_dense.compat import ops
from fan_dense.compat.ops.table import ABSENT, FAMILIES, TORCH, TORCHVISION
from tests.reference import ROOT


def asked_by_mmcv():
    """File of mmcv.ops -> the names in its calls of ``load_ext``."""
    asked = {}
    for file in (Path(mmcv.__file__).parent / 'ops').glob('*.py'):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith('load_ext'):
                asked[file.stem] = ast.literal_eval(node.args[1])
    return asked


def test_names_are_those_that_mmcv_asks_for():
    listed = {}
    for family in FAMILIES:
        listed.setdefault(family.mmcv, []).extend(family.names)
    assert {file: sorted(names) for file, names in listed.items()} == {
        file: sorted(names) for file, names in asked_by_mmcv().items()
    }
    functions = ops.extension()
    assert len(functions) == 112
    assert all(callable(function) for function in functions.values())


def test_documentation_has_the_same_table():
    rows = []
    for line in (ROOT / 'docs' / 'operators.md').read_text().splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if line.startswith('| `'):
            rows.append((cells[0].strip('`'), tuple(re.findall(r'`(\w+)`', cells[2])), cells[3]))
    assert rows == [(family.mmcv, family.names, family.source) for family in FAMILIES]


def test_documented_operators_exist():
    import mmcv.ops

    text = (ROOT / 'docs' / 'operators.md').read_text()
    operators = [
        name for row in re.findall(r'^\| `\w+` \| (.*?) \|', text, re.M) for name in re.findall(r'`(\w+)`', row)
    ]
    assert len(operators) > 100
    assert not [name for name in operators if not hasattr(mmcv.ops, name)]


def test_sources():
    for family in FAMILIES:
        assert family.source in (TORCHVISION, TORCH, ABSENT)
        assert (family.module is None) == (family.source == ABSENT)


@pytest.mark.parametrize('name', [name for family in FAMILIES if family.source == ABSENT for name in family.names])
def test_absent_operator_names_itself_and_the_remedy(name):
    function = ops.extension()[name]
    with pytest.raises(NotImplementedError, match=rf'operator {name} .* a compiled mmcv >= 2.0.0rc4, < 2.2.0'):
        function(1, key=2)


def test_compiler_version_claims_nothing():
    from mmcv.ops import get_compiler_version, get_compiling_cuda_version

    assert get_compiler_version().startswith('none (fan_dense')
    assert distribution('torchvision').version.split('+')[0] in get_compiler_version()
    assert get_compiling_cuda_version() == 'not available'

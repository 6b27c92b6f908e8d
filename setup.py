"""Packaging. The requirements of each purpose are in requirements/, one file a purpose."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent


def requirements(purpose: str) -> list[str]:
    lines = (ROOT / 'requirements' / f'{purpose}.txt').read_text().splitlines()
    return [line for line in lines if line and not line.startswith('#')]


setup(
    name='fan_dense',
    version='0.1.0',
    description='Fully attentional backbones for robust detection and segmentation, in the OpenMMLab dialect',
    long_description=(ROOT / 'README.md').read_text(),
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    python_requires='>=3.10',
    packages=find_packages(include=['fan_dense', 'fan_dense.*']),
    package_data={'fan_dense': ['**/*.json', '**/*.npz', '**/*.png', '**/*.jpg', '**/*.html', '**/*.css']},
    install_requires=requirements('runtime'),
    extras_require={'lite': requirements('lite'), 'tests': requirements('tests')},
)

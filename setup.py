"""The checkout itself is the package `bursar`, and its rooms are the packages in it."""

from setuptools import find_packages, setup

_NO_ROOMS = ["bench*", "build*", "docs*", "tests*"]

setup(
    packages=["bursar", *(f"bursar.{room}" for room in find_packages(exclude=_NO_ROOMS))],
    package_dir={"bursar": "."},
    package_data={"bursar": ["py.typed"], "bursar.pdf": ["*.typ"], "bursar.content.page": ["*.json", "*.LICENSE.txt"]},
)

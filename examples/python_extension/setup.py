"""The headers come with the package buffer_interface, or from the source tree that this example is part of."""

import importlib.util
import pathlib

from setuptools import Extension, setup

here = pathlib.Path(__file__).resolve().parent
package = importlib.util.find_spec("buffer_interface")
installed = pathlib.Path(package.origin).parent / "include" if package else here
include = installed if (installed / "buffer_interface").is_dir() else here.parent.parent / "include"

setup(ext_modules=[Extension("array_report", ["array_report.c"], include_dirs=[str(include)])])

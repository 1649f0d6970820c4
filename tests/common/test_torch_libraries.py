"""A limit on memory leaves a program as much with each build of torch."""

import subprocess
import sys

from common.torch_libraries import libraries_mib, torch_libraries_mib


def test_the_libraries_of_a_build_for_gpus_are_counted_once_each(tmp_path):
    for name, mib in (("torch/lib/libtorch_cuda.so", 3), ("nvidia/cu13/lib/libcublas.so.13", 2), ("other/lib/libother.so", 4)):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        with open(path, "wb") as file:
            file.truncate(mib << 20)
    (tmp_path / "nvidia/cu13/lib/libcublas.so").symlink_to("libcublas.so.13")
    assert libraries_mib(tmp_path) == 5 and libraries_mib(tmp_path / "other") == 0


def test_they_explain_what_importing_torch_takes():
    """With NumPy and Python itself, which take less than 300 MiB."""
    code = "import torch; print(open('/proc/self/statm').read().split()[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    taken_mib = (int(done.stdout) * 4096) >> 20
    assert taken_mib - 300 < torch_libraries_mib() < 1.5 * taken_mib

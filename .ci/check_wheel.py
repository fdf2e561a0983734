"""Check what a cluster needs of a wheel: one file for every CPython from 3.11, nothing bundled, stripped, small."""

import sys
import zipfile
from io import BytesIO
from pathlib import Path

from elftools.elf.elffile import ELFFile

ALLOWED_LIBRARIES = {"libc.so.6", "libm.so.6"}
MAX_WHEEL_BYTES = 1_000_000


def check(path: Path) -> list[str]:
    """Return what is wrong with the wheel."""
    wrong = []
    if "-cp311-abi3-manylinux" not in path.name:
        wrong.append(f"expected a cp311-abi3-manylinux wheel, got {path.name}")
    if path.stat().st_size > MAX_WHEEL_BYTES:
        wrong.append(f"expected at most {MAX_WHEEL_BYTES:,} bytes, got {path.stat().st_size:,}")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        sources = (".pyx", ".c", ".h")
        wrong += [f"unexpected file {name}" for name in names if ".libs/" in name or name.endswith(sources)]
        extensions = [name for name in names if ".so" in name]
        if not extensions:
            wrong.append("expected extension modules, got none")
        for name in extensions:
            if not name.endswith(".abi3.so"):
                wrong.append(f"{name}: expected an .abi3.so")
            elf = ELFFile(BytesIO(wheel.read(name)))
            needed = {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
            if needed - ALLOWED_LIBRARIES:
                wrong.append(f"{name}: expected only libc and libm, got {sorted(needed)}")
            if elf.get_section_by_name(".symtab") or elf.get_section_by_name(".debug_info"):
                wrong.append(f"{name}: expected a stripped file")
            exported = [
                symbol.name
                for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
                if symbol.entry.st_shndx != "SHN_UNDEF" and symbol.entry.st_info.bind == "STB_GLOBAL"
            ]
            if [symbol for symbol in exported if not symbol.startswith("PyInit_")]:
                wrong.append(f"{name}: expected to export only PyInit_, got {exported}")
    return wrong


if __name__ == "__main__":
    wheel_path = Path(sys.argv[1])
    problems = check(wheel_path)
    for problem in problems:
        print(f"check_wheel: {problem}")
    if problems:
        sys.exit(1)
    print(f"check_wheel: {wheel_path.name} is fine, {wheel_path.stat().st_size:,} bytes")

# SPDX-License-Identifier: MIT
"""Debian's OpenMP programs on LLVM's runtime, as conda runs them: the name of libgomp, which gcc
linked them with, leads to libomp, which has libgomp's calls too.

The variant LD_LIBRARY_PATH= is the program on libgomp.
"""

import hashlib
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from overlock_tools.apps import app
from overlock_tools.apps.app import Workspace
from overlock_tools.apps.trial import Trial
from overlock_tools.core.model.combine import Answer

SEED = 1
LIBOMP, LIBGOMP = "libomp.so.5", "libgomp.so.1"
BASES = "ACGT"
COMPLEMENT = str.maketrans(BASES, BASES[::-1])
READ, KMER = 100, 31  # bases
COVERAGE = 4  # times that reads cover the genome
FRAGMENT = 300  # of which pairs of reads are the ends
CONTIG = 500
SPECIES = 64


class OnLibomp(app.App):
    unit = "reads"
    reach = "all: critical sections and locks of libomp"
    presets: ClassVar[dict[str, str]] = {"reads": "20000"}

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.draw = random.Random(SEED)  # noqa: S311 - no secret
        self.libraries = workspace.folder / "libraries"

    def set_up(self) -> None:
        self.libraries.mkdir()
        (self.libraries / LIBGOMP).symlink_to(app.program(LIBOMP))
        self.make()
        out = self.workspace.folder / "right"
        command = self.command(1, files_of(out))
        out.write_bytes(app.natively(["env", "OMP_NUM_THREADS=1", *command], self.workspace))
        self.right = self.result(out)

    @property
    def work(self) -> int:
        return self.number("reads")

    def make(self) -> None:
        """The input."""
        raise NotImplementedError

    def command(self, threads: int, files: Path) -> list[str]:
        """`files`: an empty folder for what it writes beside standard output."""
        raise NotImplementedError

    def result(self, out: Path) -> str:
        """Of standard output and files, what is the same for any number of threads."""
        raise NotImplementedError

    def cell(self, trial: Trial) -> Answer:
        return trial.pieces(
            lambda out: self.command(trial.threads, files_of(out)),
            self.work,
            self.wrong,
            variables={
                "LD_LIBRARY_PATH": str(self.libraries),
                "OMP_NUM_THREADS": str(trial.threads),
            },
        )

    def wrong(self, outs: list[Path]) -> str:
        right = all(self.result(out) == self.right for out in outs)
        return "" if right else "its result is not that of one thread"

    def file(self, name: str) -> str:
        return str(self.workspace.folder / name)

    def bases(self, count: int) -> str:
        return "".join(self.draw.choices(BASES, k=count))

    def save(self, name: str, parts: Iterable[tuple[str, str]]) -> None:
        """As FASTA, or with qualities as FASTQ: by the name's end."""
        with (self.workspace.folder / name).open("w") as file:
            for title, bases in parts:
                if name.endswith(".fq"):
                    file.write(f"@{title}\n{bases}\n+\n{'I' * len(bases)}\n")
                else:
                    file.write(f">{title}\n{bases}\n")

    def genome(self) -> str:
        return self.bases(self.work * READ // COVERAGE + FRAGMENT)

    def reads(self, genome: str) -> Iterator[tuple[str, str]]:
        for n in range(self.work):
            start = self.draw.randrange(len(genome) - READ)
            bases = genome[start : start + READ]
            yield f"read{n}", self.draw.choice((bases, turned(bases)))


class AbyssMap(OnLibomp):
    name = "libomp-abyss-map"
    what = "ABySS maps reads to contigs: N threads read and write each of them in critical sections"
    packages = ("abyss", "libomp5")
    programs = ("abyss-map", "abyss-index", LIBOMP)

    def make(self) -> None:
        genome = self.genome()
        starts = range(0, len(genome) - CONTIG, CONTIG)
        self.save("contigs.fa", ((f"{at} {CONTIG} 0", genome[at : at + CONTIG]) for at in starts))
        self.save("reads.fq", self.reads(genome))
        app.natively([app.program("abyss-index"), self.file("contigs.fa")], self.workspace)

    def command(self, threads: int, files: Path) -> list[str]:
        reads, contigs = self.file("reads.fq"), self.file("contigs.fa")
        return [app.program("abyss-map"), f"-j{threads}", "-l20", reads, contigs]

    def result(self, out: Path) -> str:
        """Without the header, which has the command."""
        return in_order(line for line in out.read_text().splitlines() if line[0] != "@")


class AbyssBloom(OnLibomp):
    name = "libomp-abyss-bloom"
    what = "ABySS enters reads into a Bloom filter: N threads lock a part of it for each k-mer"
    packages = ("abyss", "libomp5")
    programs = ("abyss-bloom", LIBOMP)

    def make(self) -> None:
        self.save("reads.fq", self.reads(self.genome()))

    def command(self, threads: int, files: Path) -> list[str]:
        options = [f"-k{KMER}", "-b8M", f"-j{threads}"]
        filled = str(files / "bloom")
        return [app.program("abyss-bloom"), "build", *options, filled, self.file("reads.fq")]

    def result(self, out: Path) -> str:
        return digest((files_of(out) / "bloom").read_bytes())


class Konnector(OnLibomp):
    name = "libomp-konnector"
    what = "Konnector joins pairs of reads: a Bloom filter of N threads, as in abyss-bloom"
    unit = "pairs"
    packages = ("abyss", "libomp5")
    programs = ("konnector", LIBOMP)
    presets: ClassVar[dict[str, str]] = {"pairs": "5000"}

    @property
    def work(self) -> int:
        return self.number("pairs")

    def make(self) -> None:
        genome = self.genome()
        starts = [self.draw.randrange(len(genome) - FRAGMENT) for _ in range(self.work)]
        ends = [at + FRAGMENT for at in starts]
        firsts = (genome[at : at + READ] for at in starts)
        seconds = (turned(genome[at - READ : at]) for at in ends)
        for n, reads in ((1, firsts), (2, seconds)):
            self.save(f"{n}.fq", ((f"pair{at}/{n}", bases) for at, bases in enumerate(reads)))

    def command(self, threads: int, files: Path) -> list[str]:
        options = [f"-k{KMER}", "-b8M", f"-j{threads}", "-o", str(files / "joined")]
        return [app.program("konnector"), *options, self.file("1.fq"), self.file("2.fq")]

    def result(self, out: Path) -> str:
        written = sorted(files_of(out).iterdir())
        return " ".join(in_order(file.read_text().splitlines()) for file in written)


class Kraken2Build(OnLibomp):
    name = "libomp-kraken2-build"
    what = "Kraken 2 builds its database: N threads lock a part of it for each minimizer"
    unit = "bases"
    packages = ("kraken2", "libomp5")
    programs = ("build_db", LIBOMP)
    presets: ClassVar[dict[str, str]] = {"bases": "2000000"}

    @property
    def work(self) -> int:
        return self.number("bases") // SPECIES * SPECIES

    def make(self) -> None:
        """As many species, in eight genera, each with a sequence."""
        parents = {1: 1, **dict.fromkeys(range(2, 10), 1)}
        species = range(10, 10 + SPECIES)
        parents |= {taxon: 2 + taxon % 8 for taxon in species}
        rows = {
            "nodes.dmp": "{0}\t|\t{1}\t|\tno rank\t|\t-\t|\n",
            "names.dmp": "{0}\t|\ttaxon {0}\t|\t\t|\tscientific name\t|\n",
        }
        for name, row in rows.items():
            lines = (row.format(*pair) for pair in parents.items())
            (self.workspace.folder / name).write_text("".join(lines))
        lines = (f"sequence{taxon}\t{taxon}\n" for taxon in species)
        (self.workspace.folder / "map").write_text("".join(lines))
        each = self.work // SPECIES
        self.save("library.fa", ((f"sequence{taxon}", self.bases(each)) for taxon in species))

    def command(self, threads: int, files: Path) -> list[str]:
        made = ("-H", f"{files}/hash", "-t", f"{files}/taxonomy", "-o", f"{files}/options")
        given = ("-m", self.file("map"), "-n", str(self.workspace.folder))
        sizes = ("-k", "35", "-l", str(KMER), "-c", str(self.work), "-p", str(threads))
        build = [app.program("build_db"), *made, *given, *sizes]
        return fed(build, self.file("library.fa"))

    def result(self, out: Path) -> str:
        folder = files_of(out)
        return digest(b"".join((folder / name).read_bytes() for name in ("hash", "taxonomy")))


class Velveth(OnLibomp):
    name = "libomp-velveth"
    what = "Velvet hashes the k-mers of reads: N threads lock a tree of 4^11 or more for each"
    packages = ("velvet-long", "libomp5")
    programs: ClassVar[tuple[str, ...]] = ("velveth_long", LIBOMP)
    presets: ClassVar[dict[str, str]] = {"reads": "10000"}

    def make(self) -> None:
        self.save("reads.fa", self.reads(self.genome()))

    def command(self, threads: int, files: Path) -> list[str]:
        velveth = app.program("velveth_long")
        return [velveth, str(files), str(KMER), "-fasta", "-short", self.file("reads.fa")]

    def result(self, out: Path) -> str:
        """How many k-mers had been seen before: which read is the first varies."""
        lines = (files_of(out) / "Roadmaps").read_text().splitlines()[1:]
        spans = [line.split()[2:] for line in lines if line[0] != "R"]
        return str(sum(abs(int(end) - int(start)) for start, end in spans))


class Velvetg(Velveth):
    name = "libomp-velvetg"
    what = "Velvet assembles hashed reads: N threads lock the nodes of a graph"
    programs = ("velveth_long", "velvetg_long", LIBOMP)

    def make(self) -> None:
        super().make()
        self.hashed = self.workspace.folder / "hashed"
        command = super().command(1, self.hashed)
        app.natively(["env", "OMP_NUM_THREADS=1", *command], self.workspace)

    def command(self, threads: int, files: Path) -> list[str]:
        for name in ("Sequences", "Roadmaps"):
            (files / name).symlink_to(self.hashed / name)
        return [app.program("velvetg_long"), str(files)]

    def result(self, out: Path) -> str:
        """A contig may come from either strand."""
        text = (files_of(out) / "contigs.fa").read_text()
        contigs = (part.replace("\n", "") for part in re.split(r">.*\n", text))
        return in_order(min(bases, turned(bases)) for bases in contigs)


PROGRAMS = (AbyssMap, AbyssBloom, Konnector, Kraken2Build, Velveth, Velvetg)


def files_of(out: Path) -> Path:
    """The folder of a piece, beside its standard output."""
    folder = out.with_name(f"{out.name}.files")
    folder.mkdir(exist_ok=True)
    return folder


def fed(command: list[str], file: str) -> list[str]:
    """With the file as its input."""
    return ["sh", "-c", 'exec "$@" < "$0"', file, *command]


def turned(bases: str) -> str:
    """The other strand."""
    return bases.translate(COMPLEMENT)[::-1]


def in_order(lines: Iterable[str]) -> str:
    return digest("\n".join(sorted(lines)).encode())


def digest(what: bytes) -> str:
    return hashlib.sha256(what).hexdigest()

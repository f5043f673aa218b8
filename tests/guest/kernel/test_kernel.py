# SPDX-License-Identifier: MIT
"""A Linux kernel with the series: each patch builds, every lock boots and bears locktorture.

Needs QEMU, and Debian's linux-source-6.1, or that of the version in KERNEL, or in KERNEL_SOURCE
the folder of an unpacked kernel. The trees stay in $BUILD/kernel-VERSION, where the next run finds
them. `-k plain`, `-k lockdep` and so on choose one of the kernels.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from overlock_tools.core.model import defs
from overlock_tools.guest import initramfs, paths
from overlock_tools.guest import source as kernels
from overlock_tools.guest.channel import Ended
from overlock_tools.guest.qmp import Monitor
from overlock_tools.guest.vm import NO_TIMER_CHECK
from tests import mutant as mutants
from tests.conftest import BUILD, TOP

VERSION = os.environ.get("KERNEL") or paths.VERSION
FOLDER = BUILD / f"kernel-{VERSION}"
CPUS = 4
TORTURE_SECONDS = 3
BOOT_SECONDS = 200  # with a kernel that watches every access
HANGS_SECONDS = 80  # of one that may hang
BUSTED_BOOTS = 20  # if every second one hangs before a report, all do once in 10^6
LOCKS = [lock.id for lock in defs.load().locks.values() if "fits4" in lock.traits]

# Beyond guest.config, so that what asks about a lock's word is compiled (lockref always is), an NMI
# can be sent to all, and the kernel says where it takes no probe.
ALL = (
    "CONFIG_BPF_SYSCALL=y",
    "CONFIG_HPET_TIMER=y",
    "CONFIG_HPET=y",
    "CONFIG_MAGIC_SYSRQ=y",
    "CONFIG_KPROBES=y",
)
OPTIONS = {
    "plain": (),
    "voluntary": (
        "CONFIG_PREEMPT_NONE=n",
        "CONFIG_PREEMPT_VOLUNTARY=y",
        "CONFIG_OVERLOCK_COUNT=y",
    ),
    "lockdep": (
        "CONFIG_PREEMPT_NONE=n",
        "CONFIG_PREEMPT=y",
        "CONFIG_PROVE_LOCKING=y",
        "CONFIG_DEBUG_ATOMIC_SLEEP=y",
        "CONFIG_DEBUG_PREEMPT=y",
        "CONFIG_DEBUG_LOCKING_API_SELFTESTS=y",
        "CONFIG_DEBUG_ENTRY=y",  # an NMI at once lets in others; objtool judges what is noinstr
        "CONFIG_OVERLOCK_COUNT=y",
    ),
    "kcsan": (
        "CONFIG_PREEMPT_NONE=n",
        "CONFIG_PREEMPT_VOLUNTARY=y",
        "CONFIG_KCSAN=y",
        "CONFIG_KCSAN_STRICT=y",
    ),
}
# Newer kernels have lazy preemption instead.
NOT_WHERE_LAZY = ("CONFIG_PREEMPT_VOLUNTARY=y",)
on = pytest.mark.parametrize
plain = on("kernel", ["plain"], indirect=True)
each_kernel = on("kernel", OPTIONS, indirect=True)

NAMED = ("-c", "user.name=A", "-c", "user.email=a@b.example")

INIT = r"""#!/bin/busybox sh
/bin/busybox mkdir -p /bin /sbin /usr/bin /usr/sbin /proc /sys
/bin/busybox --install -s
mount -t proc proc /proc; mount -t sysfs sysfs /sys
sys=/sys/kernel/overlock; tau=/sys/module/overlock/parameters/tau_ns
echo "LOCK $(cat $sys/lock)"; echo "PARKING $(cat $sys/parking)"
echo "YIELDING $(cat $sys/yielding)"
echo "AVAILABLE $(cat $sys/available)"
mount -t debugfs debugfs /sys/kernel/debug
sed -nE "s/^(0x.*)-(0x.*)\t(.*(halt|trial|woken).*)/UNPROBED \1 \2 \3/p" \
	/sys/kernel/debug/kprobes/blacklist
sed -nE "s/(.*) . (overlock_(halt|trial)_(begin|end))$/LABEL \1 \2/p" /proc/kallsyms
echo "STOCK $(insmod /stock.ko 2>&1)"
echo "TAU $(cat $tau)"; echo inf >$tau; echo "THEN $(cat $tau)"; echo -1 >$tau
insmod /torture.ko
case $(cat /proc/cmdline) in
*storm*)
	insmod /locktorture.ko torture_type=spin_lock_irq nwriters_stress=%(cpus)d onoff_interval=1
	for i in 1 2 3 4 5 6 7 8 9; do
		rmmod locktorture
		insmod /locktorture.ko torture_type=spin_lock nwriters_stress=%(cpus)d onoff_interval=1
		echo l >/proc/sysrq-trigger
		sleep 1
	done
	rmmod locktorture
	echo STORM OVER ;;
*nmi_kick*)
	insmod /nmi_kick.ko && echo IPI LEFT ALONE ;;
*calm*)
	sleep 1
	echo CALM
	sleep 3 ;;
*)
	case $(cat /proc/cmdline) in *irqs_on*) type=spin_lock ;; *) type=spin_lock_irq ;; esac
	insmod /locktorture.ko torture_type=$type nwriters_stress=%(cpus)d
	sleep %(seconds)d; rmmod locktorture ;;
esac
reboot -f
"""


QEMU = "qemu-system-x86_64"
TRANSLATOR = b"TCGTCGTCGTCG"


class Boot(Protocol):
    """Boots with these parameters and runs INIT; what the kernel and INIT said. With `nmi_at`,
    an operator sends NMIs to all CPUs once these words were said. `cpu` is QEMU's model,
    `hypervisor` the signature that the guest sees."""

    def __call__(
        self, parameters: str, nmi_at: str = "", cpu: str = "max", hypervisor: bytes = TRANSLATOR
    ) -> str: ...


# locktorture marks a count with which exclusion failed.
FOUND = re.compile("End of test: FAILURE|Fail: [1-9].*!!!|BUG:|Kernel panic")
# KCSAN finds races of Linux's own, in timers and masks of CPUs. Ours is one whose access is in our
# code or in locktorture's, within three frames.
REPORT = re.compile(r"BUG: KCSAN: .*?={10}", re.DOTALL)
OURS = re.compile(
    r"(?:read|write)[^\n]* by [^\n]*\n(?:[^\n]*\n){0,2}"
    r"[^\n]* (?:ol_|overlock_|kick_|next_parked|lock_torture)\w*\+0x"
)
UNKNOWN = "NMI received for unknown reason"
WRONG = re.compile("BUG:|WARNING:|unknown reason|lock-up|self-detected stall")


def run(*command: object, timeout: float | None = None) -> str:
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def wait_for(words: str, log: Path, qemu: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + BOOT_SECONDS
    while not log.exists() or words not in log.read_text(errors="replace"):
        assert qemu.poll() is None, f"the guest ended before it said {words}"
        assert time.monotonic() < until, f"the guest did not say {words}"
        time.sleep(0.1)


def send_nmis(monitor: Path, log: Path, qemu: "subprocess.Popen[str]") -> None:
    """Until the kernel tells of one, or ends: one that comes just after a kick is taken for it."""
    with contextlib.suppress(Ended):
        operator = Monitor(monitor, BOOT_SECONDS, lambda: qemu.poll() is None)
        while UNKNOWN not in log.read_text(errors="replace"):
            operator.ask("inject-nmi")
            time.sleep(0.5)


@dataclass(frozen=True)
class Tree:
    """One configuration's objects, beside the source."""

    objects: Path

    @classmethod
    def of(cls, name: str) -> "Tree":
        return cls(FOLDER / f"objects-{name}")

    def make(self, *targets: str) -> None:
        ccache = "ccache " if shutil.which("ccache") else ""
        jobs = f"-j{os.cpu_count()}"
        where = ("-C", FOLDER / "source", f"O={self.objects}", f"CC={ccache}gcc")
        run("make", "-s", *where, jobs, *targets)

    def configure(self, *more: str) -> None:
        """The guest's fragment on a tinyconfig, and more lines after it; all of these in force."""
        self.objects.mkdir(exist_ok=True)
        config, fragment = self.objects / ".config", self.objects / "fragment"
        text = "\n".join([(TOP / "guest/guest.config").read_text(), *more, ""])
        if not config.exists() or fragment.read_text() != text:
            fragment.write_text(text)
            self.make("tinyconfig")
            merge = FOLDER / "source/scripts/kconfig/merge_config.sh"
            run("sh", merge, "-m", "-O", self.objects, config, fragment)
        self.make("olddefconfig")
        there = config.read_text().splitlines()
        if "CONFIG_ARCH_HAS_PREEMPT_LAZY=y" in there:
            more = tuple(line for line in more if line not in NOT_WHERE_LAZY)
        assert [line for line in more if line.endswith("=y") and line not in there] == []


def with_signature(signature: bytes, folder: Path) -> Path:
    """QEMU that calls itself another hypervisor. It has its signature as three words of code, and
    its modules and ROMs beside its folder."""
    installed = Path(shutil.which(QEMU) or QEMU).resolve()
    program = installed.read_bytes()
    for at in range(0, len(TRANSLATOR), 4):
        word = TRANSLATOR[at : at + 4]
        assert program.count(word) == 1, f"this QEMU has no single {word!r}; mend with_signature()"
        program = program.replace(word, signature[at : at + 4])
    qemu = folder / "bin/qemu"
    qemu.parent.mkdir(exist_ok=True)
    qemu.write_bytes(program)
    qemu.chmod(0o755)
    for beside in ("lib", "share"):
        with contextlib.suppress(FileExistsError):
            (folder / beside).symlink_to(installed.parents[1] / beside)
    return qemu


def changed() -> list[str]:
    """The files that the series changes."""
    patches = (TOP / "guest/patch").glob("*.patch")
    return [f for p in patches for f in re.findall(r"^--- a/(\S+)$", p.read_text(), re.M)]


def first_commit(source: Path) -> str:
    return run("git", "-C", source, "rev-list", "--max-parents=0", "HEAD").strip()


def is_unpacked(source: Path) -> bool:
    if not (source / ".git").exists():
        return False
    known = run("git", "-C", source, "ls-tree", "-r", "--name-only", first_commit(source))
    return set(known.split()) == set(changed())


def unpack(source: Path) -> None:
    """A source as it came, into a git repository of the files that the series changes."""
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    given = os.environ.get("KERNEL_SOURCE")
    if given:
        run("cp", "-r", f"{given}/.", source)
        shutil.rmtree(source / ".git", ignore_errors=True)
    else:
        packed = kernels.tarball(paths.home(FOLDER / "fetched", VERSION), print)
        run("tar", "-xf", packed, "-C", source, "--strip-components=1")
    run("git", "-C", source, "init", "-q")
    run("git", "-C", source, "add", "-f", *changed())
    run("git", "-C", source, *NAMED, "commit", "-qm", "as it came")


@pytest.fixture(scope="module")
def mails() -> list[Path]:
    shutil.rmtree(FOLDER / "mails", ignore_errors=True)
    return [Path(m) for m in run(TOP / "guest/series", FOLDER / "mails").split()]


@pytest.fixture(scope="module")
def patched(mails: list[Path]) -> Path:
    """The patches one by one on the source as it came, and what they touch compiled after each."""
    source = FOLDER / "source"
    if not is_unpacked(source):
        unpack(source)
    run("git", "-C", source, "reset", "-q", "--hard", first_commit(source))
    for number, mail in enumerate(mails, 1):
        run("git", "-C", source, *NAMED, "am", "-q", mail)
        steps = Tree.of("steps")
        steps.configure("CONFIG_OVERLOCK_SPINLOCKS=n")
        steps.make("prepare", "kernel/locking/", "arch/x86/kernel/paravirt-spinlocks.o")
        assert len(run("git", "-C", source, "rev-list", "HEAD").split()) == 1 + number
    return source


@pytest.fixture(scope="module")
def stock_module(patched: Path) -> Path:
    """Of the same source and configuration, but for CONFIG_OVERLOCK_SPINLOCKS."""
    assert patched == FOLDER / "source"
    tree = Tree.of("steps")
    tree.make("modules")
    return tree.objects / "kernel/torture.ko"


@pytest.fixture(scope="module")
def kernel(patched: Path, request: pytest.FixtureRequest) -> Tree:
    assert patched == FOLDER / "source"
    tree = Tree.of(request.param)
    tree.configure("CONFIG_OVERLOCK_SPINLOCKS=y", *ALL, *OPTIONS[request.param])
    tree.make("bzImage", "modules")
    return tree


@pytest.fixture(scope="module")
def boot(kernel: Tree, stock_module: Path, tmp_path_factory: pytest.TempPathFactory) -> Boot:
    folder = tmp_path_factory.mktemp("boot")
    image, log, monitor = folder / "initramfs", folder / "log", folder / "qmp"
    busybox = Path(shutil.which("busybox") or "/bin/busybox")
    init = INIT % {"cpus": CPUS, "seconds": TORTURE_SECONDS}
    contents = {"bin/busybox": (0o755, busybox.read_bytes()), "init": (0o755, init.encode())}
    nmi_kick = folder / "nmi_kick"
    shutil.copytree(Path(__file__).with_name("nmi_kick"), nmi_kick)
    kernel.make(f"M={nmi_kick}", "W=1", "KCFLAGS=-Werror", "modules")
    modules = [kernel.objects / m for m in ("kernel/torture.ko", "kernel/locking/locktorture.ko")]
    for built in (*modules, nmi_kick / "nmi_kick.ko"):
        contents[built.name] = (0o644, built.read_bytes())
    contents["stock.ko"] = (0o644, stock_module.read_bytes())
    image.write_bytes(initramfs.archive(contents))

    def boot(
        parameters: str, nmi_at: str = "", cpu: str = "max", hypervisor: bytes = TRANSLATOR
    ) -> str:
        log.unlink(missing_ok=True)
        program = QEMU if hypervisor == TRANSLATOR else with_signature(hypervisor, folder)
        may_hang = "hangs" in parameters.split()
        command = f"{program} -nodefaults -no-user-config -display none -no-reboot"
        command += f" -accel tcg,thread=multi -machine q35 -cpu {cpu} -smp {CPUS} -m 512"
        given = f"console=ttyS0 rdinit=/init panic=-1 loglevel=7 {NO_TIMER_CHECK} {parameters}"
        words = [*command.split(), "-serial", f"file:{log}", "-append", given]
        words += ["-kernel", str(kernel.objects / "arch/x86/boot/bzImage"), "-initrd", str(image)]
        if hypervisor != TRANSLATOR:
            words += ["-bios", "qboot.rom"]  # QEMU's own BIOS asks Xen for what is not there
        words += ["-qmp", f"unix:{monitor},server=on,wait=off"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as qemu:
            try:
                if nmi_at:
                    wait_for(nmi_at, log, qemu)
                    send_nmis(monitor, log, qemu)
                seconds = HANGS_SECONDS if may_hang else BOOT_SECONDS
                _, complaints = qemu.communicate(timeout=seconds)
                assert qemu.returncode == 0, complaints
            except subprocess.TimeoutExpired:
                if not may_hang:  # else what it said counts
                    raise
            finally:
                qemu.kill()
        return log.read_text(errors="replace").replace("\r", "")

    return boot


def tortured(said: str) -> str:
    """How locktorture ended; it must have taken the lock."""
    assert re.search(r"Writes:  Total: [1-9]", said), said[-2000:]
    ended = re.findall(r"-torture:--- End of test: (\w+)", said)
    assert len(ended) == 1, said[-2000:]
    return str(ended[0])


def in_force(said: str) -> str:
    """The lock that sysfs and the log both say is in force."""
    lock, parking = (re.findall(rf"^{w} (.*)$", said, re.M)[0] for w in ("LOCK", "PARKING"))
    assert f"overlock: spinlocks: {lock} ({parking})\n" in said
    return str(lock)


@each_kernel
@on("lock", LOCKS)
def test_a_lock_is_in_force_and_bears_locktorture(boot: Boot, lock: str) -> None:
    said = boot(f"spinlock={lock}")
    assert in_force(said) == lock
    assert tortured(said) == "SUCCESS"
    said = REPORT.sub(lambda report: report[0] if OURS.search(report[0]) else "", said)
    assert not WRONG.search(said), said


@on("kernel", [name for name in OPTIONS if name != "kcsan"], indirect=True)
def test_busted_is_found(boot: Boot) -> None:
    """Some boots hang before anything is found; with KCSAN, whose reports take locks, most do."""
    for _ in range(BUSTED_BOOTS):
        said = boot("spinlock=busted hangs")
        assert "overlock: spinlocks: busted (" in said
        if FOUND.search(said):
            return
    pytest.fail(said[-2000:])


@plain
def test_the_kernels_own_is_left(boot: Boot) -> None:
    for parameter in ("", "spinlock=native"):
        said = boot(parameter)
        assert in_force(said) in ("native test-and-set", "native qspinlock")
        assert tortured(said) == "SUCCESS"
        listed = re.findall(r"^AVAILABLE (.*)$", said, re.M)[0].split()
        assert listed == ["native", *LOCKS, "busted", "impatient"]


@plain
def test_a_name_that_is_none_is_said_once(boot: Boot) -> None:
    said = boot("spinlock=nonsense")
    assert said.count("overlock: no spinlock=nonsense here") == 1
    assert in_force(said).startswith("native ")
    assert tortured(said) == "SUCCESS"


@plain
def test_the_first_of_two_names_counts(boot: Boot) -> None:
    said = boot("spinlock=ticket spinlock=tas")
    assert "overlock: spinlock= was given twice; the first counts\n" in said
    assert in_force(said) == "ticket"


@plain
def test_tunables(boot: Boot) -> None:
    said = boot("spinlock=preemptable_ticket overlock.tau_ns=777")
    assert re.findall(r"^(?:TAU|THEN) .*$", said, re.M) == ["TAU 777", "THEN inf"]
    assert "overlock: tau=-1 is not a number from 0 to 1000000000 or inf" in said
    assert tortured(said) == "SUCCESS"


@plain
@on("lock", LOCKS[::5])  # it takes a minute
def test_storm(boot: Boot, lock: str) -> None:
    """CPUs come and go, modules too, and NMIs reach whoever holds a lock or waits for one."""
    said = boot(f"spinlock={lock} storm")
    assert in_force(said) == lock
    assert re.search(r"CPU \d is now offline", said)
    assert said.count("End of test: SUCCESS") == 10
    assert "STORM OVER" in said
    assert said.count("NMI backtrace for cpu") > CPUS
    assert not WRONG.search(said), said


@plain
@on("way", ["halt", "spin", "pv", "nonsense"])
def test_parking(boot: Boot, way: str) -> None:
    said = boot(f"spinlock=pv_ticket overlock.park={way}")
    parking = re.findall(r"^PARKING (.*)$", said, re.M)
    assert parking == ["spin" if way == "spin" else "halt+nmi"]
    refused = "overlock: park=pv refused: no hypervisor parks waiters here; park=halt instead"
    assert (refused in said) == (way == "pv")
    assert ("overlock: park=nonsense is none of" in said) == (way == "nonsense")
    assert tortured(said) == "SUCCESS"


def refused(said: str) -> str:
    """Why waiters do not park by HLT; they spin, and the lock works."""
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["spin"]
    assert tortured(said) == "SUCCESS"
    (why,) = re.findall(r"overlock: park=halt refused: (.*); park=spin instead$", said, re.M)
    return str(why)


@plain
def test_waiters_halt_where_there_is_no_hypervisor(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket", cpu="max,-hypervisor")
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["halt+nmi"]
    assert "refused" not in said


@plain
@on("way", ["auto", "halt"])
def test_they_do_not_under_a_hypervisor_without_a_signature(boot: Boot, way: str) -> None:
    said = boot(f"spinlock=pv_ticket overlock.park={way}", cpu="max,tcg-cpuid=off")
    assert refused(said) == "no NMI is known to end a HLT under hypervisor without a signature"


@plain
@on("name", ["XenVMMXenVMM", "Microsoft Hv", "bhyve bhyve "])
def test_nor_where_a_halted_vcpu_may_stay_down(boot: Boot, name: str) -> None:
    said = boot("spinlock=pv_ticket", hypervisor=name.encode())
    assert refused(said) == f"no NMI is known to end a HLT under hypervisor {name}"


@plain
def test_they_halt_under_kvm_that_offers_nothing_else(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket", hypervisor=b"KVMKVMKVM\0\0\0")
    assert "Hypervisor detected: KVM" in said
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["halt+nmi"]
    assert tortured(said) == "SUCCESS"


@plain
def test_a_lock_that_does_not_park_works_there(boot: Boot) -> None:
    said = boot("spinlock=preemptable_ticket", cpu="max,tcg-cpuid=off")
    assert in_force(said) == "preemptable_ticket"
    assert tortured(said) == "SUCCESS"


@plain
def test_a_module_of_the_stock_kernel_is_refused(boot: Boot) -> None:
    said = boot("spinlock=ticket calm")
    magic = re.search(r"torture: version magic '(.*)' should be '(.*)'", said)
    assert magic, said[-2000:]
    assert magic[2] == f"{magic[1]}overlock "
    assert re.search("^STOCK insmod: .*invalid module format", said, re.M)


@each_kernel
def test_no_probe_comes_near_a_hlt(boot: Boot) -> None:
    said = boot("spinlock=ticket calm")
    labels = {name: int(at, 16) for at, name in re.findall(r"^LABEL (\S+) (\S+)$", said, re.M)}
    unprobed = re.findall(r"^UNPROBED (\S+) (\S+) (\S+)$", said, re.M)
    assert {name for *_, name in unprobed} >= {"woken_by_nmi", "woken_unknowingly"}
    spans = [range(int(begin, 16), int(end, 16)) for begin, end, _ in unprobed]
    for which in ("halt", "trial"):
        code = range(labels[f"overlock_{which}_begin"], labels[f"overlock_{which}_end"])
        assert code
        assert [hex(at) for at in code if not any(at in span for span in spans)] == []


@plain
def test_a_kick_in_an_nmi_leaves_the_interrupted_ipi_alone(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket nmi_kick")
    assert re.search(r"nmi_kick: [1-9]\d* kicks in", said), said[-2000:]
    assert "IPI LEFT ALONE" in said


# Changes of park.c that make an NMI, or what is made of it, go wrong, or the machine another one.
CHANGES_THE_COPY = "cmpxchg_local(copied_ip, judged, (unsigned long)place);"
RETURNS_BY_ONE_FRAME = (CHANGES_THE_COPY, "(void)copied_ip;")
CHANGES_ANY_COPY = (CHANGES_THE_COPY, "WRITE_ONCE(*copied_ip, (unsigned long)place);")
NMI_NESTS = (
    "\tif (!has_one_frame())\n\t\t",
    "\tatomic_inc(this_cpu_ptr(&woken));\n"
    '\tasm volatile("int $2" ::: "memory");\n'
    "\tif (!has_one_frame())\n\t\t",
)
LEAVES_ICR2_CHANGED = ("apic_write(APIC_ICR2, destination);", "(void)destination;")
ENCRYPTED = "cc_platform_has(CC_ATTR_GUEST_MEM_ENCRYPT)"
IS_CONFIDENTIAL = (ENCRYPTED, f"!{ENCRYPTED}")
SENDS_UNANNOUNCED = ("\tatomic_inc(&per_cpu(woken, cpu));\n\tsend_nmi", "\tsend_nmi")
OURS_IF_JUST_SENT = "atomic_read(this_cpu_ptr(&sending)) || since < JUST_NOW_NS ? NMI_HANDLED : "
KNOWS_NONE = (OURS_IF_JUST_SENT, "since ? NMI_DONE : ")
TAKES_ALL = (f"{OURS_IF_JUST_SENT}NMI_DONE", "since ? NMI_HANDLED : NMI_HANDLED")


Test = Callable[[Boot], None]


@pytest.fixture
def mutant(kernel: Tree, request: pytest.FixtureRequest) -> Iterator[None]:
    """The kernel with such changes."""
    file = FOLDER / "source/kernel/locking/overlock/park.c"
    text = file.read_text()
    wrong = mutants.changed(text, *request.param)
    try:
        file.write_text(wrong)
        kernel.make("bzImage")
        yield
    finally:
        file.write_text(text)
        kernel.make("bzImage")


def with_mutant(*changes: tuple[str, str]) -> Callable[[Test], Test]:
    one = on("mutant", [changes], indirect=True, ids=["mutant"])
    return lambda test: plain(one(pytest.mark.usefixtures("mutant")(test)))


@with_mutant(RETURNS_BY_ONE_FRAME)
def test_an_nmi_that_does_not_lead_past_a_hlt_is_found_at_boot(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket")
    assert "overlock: an NMI does not lead past a HLT here: park=spin" in said
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["spin"]
    assert tortured(said) == "SUCCESS"


@with_mutant(NMI_NESTS)
def test_an_nmi_may_nest_where_another_is_led_past_a_hlt(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket irqs_on")
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["halt+nmi"]
    assert tortured(said) == "SUCCESS"
    assert not WRONG.search(said), said


@with_mutant(NMI_NESTS, CHANGES_ANY_COPY)
def test_a_nested_nmis_copy_that_is_changed_is_found(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket irqs_on hangs")
    assert "Linux version" in said
    assert "End of test: SUCCESS" not in said


@with_mutant(LEAVES_ICR2_CHANGED)
def test_an_interrupted_ipi_that_is_led_astray_is_found(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket nmi_kick")
    assert re.search("nmi_kick: the interrupted IPI goes to .* instead of", said)
    assert "IPI LEFT ALONE" not in said


@with_mutant(IS_CONFIDENTIAL)
def test_waiters_do_not_halt_in_a_confidential_guest(boot: Boot) -> None:
    assert refused(boot("spinlock=pv_ticket")) == "HLT is unsafe in a confidential guest"


@with_mutant(SENDS_UNANNOUNCED)
def test_a_kick_that_was_counted_as_another_is_known(boot: Boot) -> None:
    """Seldom, when another NMI comes in between; here always."""
    said = boot("spinlock=pv_ticket")
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["halt+nmi"]
    assert tortured(said) == "SUCCESS"
    assert not WRONG.search(said), said


@with_mutant(SENDS_UNANNOUNCED, KNOWS_NONE)
def test_one_that_nobody_knows_is_reported(boot: Boot) -> None:
    assert UNKNOWN in boot("spinlock=pv_ticket hangs")


@plain
def test_an_operators_nmi_is_not_taken_for_a_kick(boot: Boot) -> None:
    said = boot("spinlock=pv_ticket calm", nmi_at="CALM")
    assert re.findall(r"^PARKING (.*)$", said, re.M) == ["halt+nmi"]
    assert UNKNOWN in said


@with_mutant(TAKES_ALL)
def test_it_is_where_all_are_taken_for_kicks(boot: Boot) -> None:
    assert UNKNOWN not in boot("spinlock=pv_ticket calm", nmi_at="CALM")

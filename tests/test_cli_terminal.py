"""Standard output that fails, and the progress that a terminal shows."""

import os
import pty
import re
import signal
import subprocess
import threading
import time

import pytest

from cli_helpers import CLI, FAULTS, TIMEOUT_SECONDS, refused, run, with_faults


# ---- standard output ---------------------------------------------------------------------------------

PRINTING = [["sum"], ["stats"], ["sum", "--json"], ["devices"], ["--help"], ["--version"]]


@pytest.mark.parametrize("arguments", PRINTING)
def test_full_disk(arguments):
    with open("/dev/full", "wb") as full:
        done = run(*arguments, data="1", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "warpfold: standard output: No space left on device\n"


@pytest.mark.parametrize("arguments", PRINTING)
def test_closed_pipe(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(*arguments, data="1", stdout=writing)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == "warpfold: standard output: Broken pipe\n"


def test_closed_standard_output(write):
    done = run("sum", write("x.txt", "1"), preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("warpfold: standard output: ")


def test_closed_standard_input():
    refused(1, "standard input", "sum", preexec_fn=lambda: os.close(0))


# ---- progress ----------------------------------------------------------------------------------------

WIPE = "\r\x1b[K"


class Terminal:
    """Runs the program with a terminal as its standard error, and keeps what appears there."""

    def __init__(self, *arguments, **options):
        self.main_end, program_end = pty.openpty()
        self.process = subprocess.Popen([CLI, *map(str, arguments)], stdout=subprocess.PIPE, stderr=program_end,
                                        **options)
        os.close(program_end)
        self.shown = b""
        self.reader = threading.Thread(target=self.keep)
        self.reader.start()

    def keep(self):
        while True:
            try:
                some = os.read(self.main_end, 4096)
            except OSError:  # the other end is closed
                return
            if not some:
                return
            self.shown += some

    def finish(self):
        """(exit status, standard output, what the terminal got)"""
        printed_text = self.process.stdout.read().decode()
        self.process.wait(TIMEOUT_SECONDS)
        self.reader.join(TIMEOUT_SECONDS)
        os.close(self.main_end)
        self.process.stdout.close()
        return self.process.returncode, printed_text, self.shown.decode()


def feed_slowly(stream, piece, times, last=b""):
    with stream:
        for _ in range(times):
            stream.write(piece)
            stream.flush()
            time.sleep(0.1)
        stream.write(last)


def test_progress_of_a_pipe():
    piece, times = bytes(8 * 2**20), 20
    terminal = Terminal("sum", "--type", "u8", "--format", "raw", stdin=subprocess.PIPE)
    feed_slowly(terminal.process.stdin, piece, times)
    status, text, shown = terminal.finish()
    assert (status, text) == (0, "0\n")
    lines = [line for line in shown.split("\r") if "GB/s" in line]
    assert 2 <= len(lines) <= 20, shown
    assert all(re.fullmatch(r"\d+\.\d MB, \d+\.\d\d GB/s\x1b\[K", line) for line in lines), shown
    assert shown.endswith(WIPE)


@pytest.mark.slow
def test_progress_of_a_file(tmp_path):
    """Reading takes over a second because the program is stopped again and again."""
    path = tmp_path / "large.raw"
    with open(path, "wb") as file:
        file.truncate(2**30)
    terminal = Terminal("sum", "--type", "u8", "--format", "raw", "--threads", "1", path)
    for _ in range(50):
        time.sleep(0.005)
        terminal.process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        terminal.process.send_signal(signal.SIGCONT)
        if terminal.shown or terminal.process.poll() is not None:
            break
    status, text, shown = terminal.finish()
    assert (status, text) == (0, "0\n")
    assert re.search(r"\r\d+\.\d .B of 1\.1 GB, \d+ %, \d+\.\d\d GB/s, \d+:\d\d left\x1b\[K", shown), shown
    assert shown.endswith(WIPE)


def test_progress_is_wiped_before_an_error():
    terminal = Terminal("sum", stdin=subprocess.PIPE)
    lines, times = b"1 2 3 4 5 6 7 8\n" * 2**18, 16
    feed_slowly(terminal.process.stdin, lines, times, b"x\n")
    status, text, shown = terminal.finish()
    assert (status, text) == (1, "")
    place = f"standard input:{times * 2**18 + 1}:1: "
    assert "GB/s" in shown
    assert re.search(rf"\r\x1b\[Kwarpfold: {place}[^\r\n]*\r\n$", shown), shown[-300:]


@pytest.mark.skipif(not FAULTS.exists(), reason="the tests' programs are not built")
@pytest.mark.parametrize("options, clock", [([], 1), (["--quiet"], 0)])
def test_no_progress_when_it_is_quick_or_unwanted(options, clock):
    """Quick is what ends before the clock has moved on."""
    terminal = Terminal("sum", *options, stdin=subprocess.PIPE, env=with_faults(clock=clock))
    feed_slowly(terminal.process.stdin, b"1\n" * 2**21, 12)
    status, text, shown = terminal.finish()
    assert (status, text, shown) == (0, f"{12 * 2**21}\n", "")


def test_no_progress_without_a_terminal():
    process = subprocess.Popen([CLI, "sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    feed_slowly(process.stdin, b"1\n" * 2**21, 12)
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdout.close()
    assert process.wait(TIMEOUT_SECONDS) == 0

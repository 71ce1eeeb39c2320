import bz2
import gzip
import json
import lzma
import re
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lngeom.empirical.text import Corpus, articles, flat_pieces, open_corpus, packed, plain_text

from ..conftest import message

NAMESPACE = "http://www.mediawiki.org/xml/export-0.11/"


def page(title: str, text: str, namespace: int = 0, extra: str = "") -> str:
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>1</id>{extra}"
        f'<revision><id>2</id><text xml:space="preserve">{text}</text></revision></page>'
    )


def dump(*pages: str, head: str = "") -> bytes:
    names = '<siteinfo><namespaces><namespace key="6">Datei</namespace></namespaces></siteinfo>'
    return f'{head}<mediawiki xmlns="{NAMESPACE}">{names}{"".join(pages)}</mediawiki>'.encode()


PAGES = (
    page("A", "'''Albedo''' is [[reflection|light]] thrown back.{{cite|x}}"),
    page("B", "#REDIRECT [[A]]", extra='<redirect title="A" />'),
    page("Talk:A", "no article", namespace=1),
    page("C", "[[Datei:x.png|thumb|a picture]]Zebra &amp; lion[[Category:Animals]]"),
    page("D", "{{only a template}}"),
)
TEXTS = ["Albedo is light thrown back.", "Zebra & lion"]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".xml", bytes), (".xml.bz2", bz2.compress), (".xml.gz", gzip.compress), (".xml.xz", lzma.compress)],
)
def test_dump_yields_the_text_of_articles(tmp_path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"wiki{suffix}"
    path.write_bytes(compress(dump(*PAGES)))
    assert list(open_corpus(str(path)).documents()) == TEXTS


def test_dump_is_read_as_a_stream(tmp_path) -> None:
    """Memory while reading is a small part of the text, and the same for twice the pages."""
    peaks = []
    for count in (30, 60):
        path = tmp_path / f"{count}.xml"
        path.write_bytes(dump(*[page(str(i), "word " * 4_000) for i in range(count)]))
        tracemalloc.start()
        assert sum(1 for _ in articles(path)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # 60 pages of 20 kB are 1.2 MB; the parser holds one page, its wiki code and a read buffer.
    assert peaks[1] < min(1.5 * peaks[0], 0.6e6)


@pytest.mark.parametrize("word", ["a few words on a line\n", "漢"])
def test_plain_text_is_read_as_a_stream(word: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("lngeom.empirical.text.plain._PIECE", 1 << 14)
    peaks = []
    for count in (1 << 15, 1 << 17):
        (tmp_path / "a.txt").write_text(word * count, encoding="utf-8")
        tracemalloc.start()
        assert sum(map(len, open_corpus(str(tmp_path / "a.txt")).documents())) == count * len(word)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("''a'' '''b''' '''''c'''''", "a b c"),
        ("{| class=x\n| cell\n|}after", "after"),
        ("a<ref>note</ref> b<!-- remark -->", "a b"),
        ("[[File:a.jpg|thumb|with [[link]] inside]]rest", "rest"),
        ("[http://x.org label]", "label"),
        ("== Head ==\n\n\n\ntext", "Head \n\ntext"),
        ("&nbsp;&mdash;", "—"),
    ],
)
def test_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup).split() == text.split()
    assert "\n\n\n" not in plain_text(markup)


def test_plain_and_json_lines(tmp_path) -> None:
    (tmp_path / "a.txt").write_text("eins\nzwei\n" * 3, encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"text": "x", "id": 1}\n\n{"text": "y"}\n', encoding="utf-8")
    assert "".join(open_corpus(str(tmp_path / "a.txt")).documents()) == "eins\nzwei\n" * 3
    assert list(open_corpus(str(tmp_path / "a.jsonl")).documents()) == ["x", "y"]


def test_token_files(tmp_path) -> None:
    ids = np.arange(70_000) % 50_000
    ids.astype("<u2").tofile(tmp_path / "a.bin")
    np.save(tmp_path / "a.npy", ids)
    np.save(tmp_path / "b.npy", ids.reshape(7, -1).astype(np.int32))
    for name in ("a.bin", "a.npy", "b.npy"):
        corpus = open_corpus(str(tmp_path / name))
        assert corpus.has_ids
        assert np.array_equal(corpus.token_ids(), ids)
        assert isinstance(corpus.token_ids().base, np.memmap) or isinstance(corpus.token_ids(), np.memmap)


def test_hub_stream(tmp_path, monkeypatch) -> None:
    """The loader of a stored data set is the one of the hub; only where it looks differs."""
    datasets = pytest.importorskip("datasets", reason="the package datasets of lngeom[data] is not installed")
    source = tmp_path / "wiki.jsonl"
    source.write_text("\n".join(json.dumps({"text": f"article {i}", "title": "t"}) for i in range(5)))
    real = datasets.load_dataset
    asked = []

    def local(name: str, config: str | None, **keywords: object) -> object:
        asked.append((name, config))
        return real("json", data_files=str(source), **keywords)

    monkeypatch.setattr(datasets, "load_dataset", local)
    corpus = open_corpus("hf:wikimedia/wikipedia:20231101.en")
    assert list(corpus.documents()) == [f"article {i}" for i in range(5)]
    assert asked == [("wikimedia/wikipedia", "20231101.en")]
    assert corpus.sha256() is None


@given(
    pieces=st.lists(st.lists(st.integers(0, 9), max_size=20), max_size=8),
    length=st.integers(2, 7),
    start=st.none() | st.just(99),
)
def test_packing_loses_nothing_but_the_end(pieces: list[list[int]], length: int, start: int | None) -> None:
    flat = [token for piece in pieces for token in piece]
    rows = [row.tolist() for row in packed([np.array(piece, np.int64) for piece in pieces], length, start)]
    content = length - (start is not None)
    assert all(len(row) == length for row in rows)
    assert start is None or all(row[0] == start for row in rows)
    kept = [token for row in rows for token in row[length - content :]]
    assert kept == flat[: len(flat) - len(flat) % content]


def test_flat_pieces_cover_the_array() -> None:
    assert np.array_equal(np.concatenate(list(flat_pieces(np.arange(10), size=3))), np.arange(10))


BOMB = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
WHOLE = dump(*[page(str(i), f"text {i} " * 500) for i in range(50)])

AGAIN = "the file is cut off or damaged, download it again"
ENDED = f": cannot be decompressed (Compressed file ended before the end-of-stream marker was reached); {AGAIN}"
REFUSED: list[tuple[str, bytes, str]] = [
    ("cut.xml.bz2", bz2.compress(WHOLE)[:200], ENDED),
    ("plain.xml.bz2", b"no bzip2 at all", f": cannot be decompressed (Invalid data stream); {AGAIN}"),
    ("cut.xml", WHOLE[:-300], ": not well-formed XML (no element found: line 1, column 200595); "
     "the file is cut off or is not a dump, download it again"),
    ("bomb.xml", dump(page("A", "&b;"), head=BOMB),
     ": declares entities (DTDForbidden), which MediaWiki dumps never do; refused"),
    ("latin.txt", "Köln".encode("latin-1"), ": not UTF-8 (invalid start byte); "
     "convert it, for example with iconv"),
    ("line.jsonl", b'{"text": "x"}\nnonsense\n', ", line 2: not JSON (Expecting value: line 1 column 1 (char 0)); "
     "one JSON object per line is expected"),
    ("body.jsonl", b'{"body": "x"}\n', ", line 1: no string under 'text', seen ['body']; rename the field"),
    ("half.jsonl", b'{"text": "\\ud800"}', ", line 1: half of a surrogate pair is not a character; encode as UTF-8"),
    ("klingon.xml", b"<?xml version='1.0' encoding='klingon'?><mediawiki/>", ": not well-formed XML (unknown encoding: "
     "klingon); the file is cut off or is not a dump, download it again"),
]  # fmt: skip


def refused(spec: object, read: Callable[[Corpus], object] = lambda corpus: list(corpus.documents())) -> str:
    """The message of the error that opening or reading a corpus raises, after what names the corpus."""
    return message(lambda: read(open_corpus(str(spec)))).removeprefix(f"corpus {spec}")


@pytest.mark.parametrize(("name", "content", "message"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_damaged_texts_are_refused(tmp_path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert refused(tmp_path / name) == message


def test_damaged_token_files_are_refused(tmp_path) -> None:
    odd, floats, text, objects = (tmp_path / name for name in ("odd.bin", "floats.npy", "text.npy", "objects.npy"))
    odd.write_bytes(b"123")
    np.save(floats, np.zeros(4))
    text.write_text("no array")
    np.save(objects, np.array([object()]), allow_pickle=True)
    expected = {
        odd: ": 3 bytes, not a multiple of 2; flat files hold uint16, other ids are stored as .npy",
        floats: ": float64 of shape (4,); token ids are integers, of shape (tokens,) or (sequences, tokens)",
        text: ": not an array of numbers (the magic string is not correct; expected b'\\x93NUMPY', got b'no arr'); "
        "write it with numpy.save",
        objects: ": not an array of numbers (Array can't be memory-mapped: Python objects in dtype.); "
        "write it with numpy.save",
    }
    assert {path: refused(path, Corpus.token_ids) for path in expected} == expected


FORMATS = ".xml, .txt, .jsonl, each also with .bz2, .gz or .xz; .npy, .bin"


def test_unknown_sources_are_refused(tmp_path) -> None:
    (tmp_path / "a.pdf").touch()
    expected = {
        "nowhere.txt": f"corpus 'nowhere.txt': no such file; give a file ({FORMATS}) or hf:NAME:CONFIG",
        str(tmp_path): f"corpus {str(tmp_path)!r}: is a directory; give one file ({FORMATS}) or hf:NAME:CONFIG",
        str(tmp_path / "a.pdf"): f"corpus {str(tmp_path / 'a.pdf')!r}: unknown format '.pdf'; "
        f"known are {FORMATS}, and hf:NAME:CONFIG",
    }
    assert {spec: refused(spec) for spec in expected} == expected


def test_damaged_hub_names_are_refused(monkeypatch) -> None:
    pytest.importorskip("datasets", reason="the package datasets of lngeom[data] is not installed")
    for spec in ("hf:", "hf:a:b:c:d"):
        assert refused(spec) == f"corpus {spec!r}: expected hf:NAME, hf:NAME:CONFIG or hf:NAME:CONFIG:SPLIT"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    answer = refused("hf:lngeom/absent-data-set")
    assert re.search("cannot be streamed .*; HF_HUB_OFFLINE is set: unset it, or give a local file", answer)

"""Loading: what each kind of file gives, what a folder gives, and what bad input is told."""

import gzip
import json
import os
import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.corpus import DocumentNames
from steelyard.data.loading import Loaded, load
from steelyard.data.loading.html import visible_text
from steelyard.data.loading.pdf import PAGE_END
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

HTML_CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "html_text.jsonl").read_text(encoding="utf-8").splitlines()
]


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def texts(loaded: Loaded) -> dict[str, str]:
    return {document.doc_id: document.text for document in loaded}


def make_pdf(*pages: list[str], trailer: bytes = b"") -> bytes:
    """A PDF of Helvetica lines, one list a page."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, lines in enumerate(pages):
        drawn = b" ".join(b"(%s) Tj T*" % line.encode("latin-1") for line in lines)
        content = b"BT /F1 12 Tf 14 TL 72 700 Td %s ET" % drawn
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % (5 + 2 * i)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    made, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return made + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n"
        % (size, table, size, trailer, len(made))
    )


# Folders


def test_a_folder_gives_its_files_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(
        tmp_path, {"b.txt": "B", "a/z.md": "Z", "a.markdown": "A", "说明.TXT": "中文", "a/.git/x.txt": "", ".b.txt": ""}
    )
    loaded = load(tmp_path)
    assert texts(loaded) == {"a": "A", "a/z": "Z", "b": "B", "说明": "中文"}
    assert list(texts(loaded)) == ["a", "a/z", "b", "说明"]
    assert loaded.skipped == loaded.empty == ()
    assert [Path(document.source).name for document in loaded] == ["a.markdown", "z.md", "b.txt", "说明.TXT"]


def test_other_kinds_of_files_are_skipped_and_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "A", "x/run.exe": b"\0", "README": "r", "b.pdf.gz": b""})
    assert load(tmp_path).skipped == ("README", "b.pdf.gz", "x/run.exe")


def test_links_never_loop_and_those_that_lead_nowhere_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"docs/a.txt": "A", "other.txt": "O"})
    docs = tmp_path / "docs"
    (docs / "up").symlink_to(tmp_path)
    (docs / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    (docs / "self.txt").symlink_to(docs / "self.txt")
    (docs / "b.txt").symlink_to(tmp_path / "other.txt")
    os.mkfifo(docs / "pipe.txt")
    loaded = load(docs)
    assert texts(loaded) == {"a": "A", "b": "O"}
    assert loaded.skipped == ("gone.txt", "pipe.txt", "self.txt", "up")
    with pytest.raises(InputError, match=r"gone\.txt: cannot be read"):
        load(docs / "gone.txt")


def test_the_suffix_stays_where_the_rest_of_the_name_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"m.txt": "1", "m.md": "2", "n.txt": "3", "n.md.html": "<p>4", "n.md": "5", "o.txt.gz": gzip.compress(b"6")},
    )
    assert texts(load(tmp_path)) == {"m.md": "2", "m.txt": "1", "n.md": "5", "n.md.html": "4", "n.txt": "3", "o": "6"}


def test_a_pattern_chooses_by_name_or_by_path(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "", "g/b.txt": "", "g/h/c.md": "", "corpus.jsonl": "not even JSON", "x.bin": ""})
    assert list(texts(load(tmp_path, pattern="*.txt"))) == ["a", "g/b"]
    assert list(texts(load(tmp_path, pattern="g/*"))) == ["g/b", "g/h/c"]
    assert load(tmp_path, pattern="*.txt").skipped == ()
    with pytest.raises(InputError, match=r"has no document that matches '\*\.rst'"):
        load(tmp_path, pattern="*.rst")
    with pytest.raises(InputError, match="is no folder; a pattern"):
        load(tmp_path / "a.txt", pattern="*.txt")


def test_documents_without_text_are_kept_and_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"", "b.md": " \r\n\u3000", "c.txt": "c", "d.html": "<p> </p>", "e.txt": b"\xef\xbb\xbf"})
    loaded = load(tmp_path)
    assert loaded.empty == ("a", "b", "d", "e")
    assert texts(loaded)["b"] == ""
    assert len(loaded) == 5
    assert loaded[2].doc_id == "c"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "is an empty folder; documents are files of .txt, .md"),
        ({".hidden.txt": "x"}, "is an empty folder"),
        ({f"{i}.docx": "x" for i in range(7)}, "only 0.docx, 1.docx, 2.docx, 3.docx, 4.docx and 2 more"),
        ({"corpus.jsonl": ""}, r"corpus.jsonl: has no documents; expected one JSON object a line"),
    ],
)
def test_a_folder_without_documents_says_what_it_has(tmp_path: Path, files: dict[str, str], told: str) -> None:
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, {**files}))
    assert told in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_what_is_not_there_or_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: there is no such file or folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"a\.docx: is of no kind that can be read \(\.txt, "):
        load(write(tmp_path, {"a.docx": "x"}) / "a.docx")


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, {"a.txt": "x"}) / "a.txt"

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        load(file)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every folder")
def test_an_unreadable_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "x", "locked/b.txt": "y"})
    (tmp_path / "locked").chmod(0)
    try:
        with pytest.raises(InputError, match="locked: cannot be read"):
            load(tmp_path)
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_the_same_id_twice_names_both_sources(tmp_path: Path) -> None:
    write(tmp_path, {"a.jsonl": '{"id": "x", "text": "1"}\n\n{"id": "x", "text": "2"}'})
    with pytest.raises(DuplicateError, match=r"document 'x' is in .*a\.jsonl, line 1 and in .*a\.jsonl, line 3"):
        load(tmp_path / "a.jsonl")
    write(tmp_path, {"a.jsonl": '{"id": "b", "text": "1"}', "b.txt": "2"})
    with pytest.raises(DuplicateError, match=r"document 'b' is in .*a\.jsonl, line 1 and in .*b\.txt; rename one"):
        load(tmp_path)


# Text


@examples(100)
@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), bom=st.booleans())
def test_text_is_the_file_character_by_character(
    tmp_path_factory: pytest.TempPathFactory, text: str, bom: bool
) -> None:
    text = text.removeprefix("\ufeff")
    file = tmp_path_factory.mktemp("text") / "a.txt"
    file.write_bytes(b"\xef\xbb\xbf" * bom + text.encode())
    assert load(file)[0].text == ("" if text.isspace() else text)


@pytest.mark.parametrize("encoding", ["gb18030", "GBK", "big5", "utf-16", "utf-16-le", "utf-8-sig"])
def test_a_named_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = "中文檔案\r\n第二行 B\n"
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    write(tmp_path, {"a.txt": (mark + text).encode(encoding), "b.html": f"<p>{text}".encode(encoding)})
    write(tmp_path, {"c.jsonl": json.dumps({"id": 7, "text": text}, ensure_ascii=False).encode(encoding)})
    assert texts(load(tmp_path, encoding=encoding)) == {"a": text, "b": "中文檔案 第二行 B", "7": text}


def bad_text(tmp_path: Path, content: bytes, name: str = "a.txt", encoding: str = "utf-8") -> str:
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, {name: content}), encoding=encoding)
    assert f"{name}: " in str(caught.value)
    return str(caught.value)


def test_another_encoding_is_refused_with_byte_and_position(tmp_path: Path) -> None:
    told = bad_text(tmp_path, "abc 中文字".encode("gb18030"))
    assert "byte 0xd6 at 4 is not UTF-8" in told
    assert "pass as gb18030, " in told
    told = bad_text(tmp_path, b"caf\xe9 au lait")
    assert "byte 0xe9 at 3 is not UTF-8" in told
    assert "pass as cp1252, latin-1:" in told
    assert "byte 0xff at 4 is not UTF-8" in bad_text(tmp_path, b"\xef\xbb\xbfa\xff")
    assert "byte 0xff at 2 is not GB18030" in bad_text(tmp_path, b"ab\xff", encoding="GB18030")
    assert "begins with the mark of UTF-16; name it with encoding='utf-16'" in bad_text(
        tmp_path, "a中".encode("utf-16")
    )
    assert "the mark of UTF-32" in bad_text(tmp_path, "a中".encode("utf-32"))


def test_a_page_that_names_its_encoding_is_told_of_it_first(tmp_path: Path) -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=EUC-KR"><p>한국어</p>'
    assert "pass as euc-kr, " in bad_text(tmp_path, page.encode("euc-kr"), "a.html")


@pytest.mark.parametrize(
    ("content", "byte", "at"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "0x00", 8),
        (b"\x7fELF\x02\x01\xff", "0x02", 4),
        (b"plain\0text", "0x00", 5),
        ("中\0".encode(), "0x00", 3),
        (b"\xef\xbb\xbfa\0", "0x00", 4),
    ],
)
def test_a_binary_file_named_txt_is_refused(tmp_path: Path, content: bytes, byte: str, at: int) -> None:
    assert f"is a binary file, not text (byte {byte} at {at})" in bad_text(tmp_path, content)


ZH = "押金在三个工作日内退还，逾期不还的物品按原价赔偿。\r\n如果您对费用有疑问，请联系服务台。"
TW = "押金在三個工作天內退還，逾期不還的物品按原價賠償。如果您對費用有疑問，請聯絡服務檯。"


def test_files_of_several_encodings_lie_in_one_folder(tmp_path: Path) -> None:
    line = json.dumps({"id": "j", "text": ZH}, ensure_ascii=False) + "\n"
    files = {
        "a.txt": ZH, "b.md": ZH.encode("gbk"), "tw/c.txt": TW.encode("big5"), "d.txt": ZH.encode("utf-16"),
        "e.jsonl": line.encode("gb18030"), "f.txt": b"plain", "g.txt": "\ufeff" + ZH,
    }  # fmt: skip
    loaded = load(write(tmp_path, files))
    want = {"a": ZH, "b": ZH, "tw/c": TW, "d": ZH, "j": ZH, "f": "plain", "g": ZH}
    assert texts(loaded) == want
    assert loaded.encodings == {"b.md": "gb18030", "d.txt": "utf-16", "e.jsonl": "gb18030", "tw/c.txt": "cp950"}


def test_encodings_may_be_named_by_pattern(tmp_path: Path) -> None:
    files = {"old/a.txt": "押金".encode("gbk"), "old/b.txt": "喂".encode(), "c.txt": ZH.encode("gbk"), "d.html": "中"}
    write(tmp_path, files)
    loaded = load(tmp_path, encoding={"old/b.txt": "utf-8", "old/**": "gbk", "*.html": "utf-8"})
    assert texts(loaded) == {"old/a": "押金", "old/b": "喂", "c": ZH, "d": "中"}
    assert loaded.encodings == {"c.txt": "gb18030"}
    with pytest.raises(InputError, match=r"c\.txt: byte 0xbd at 2 is not UTF-8; name"):
        load(tmp_path, encoding={"old/b.txt": "utf-8", "old/**": "gbk", "*": "utf-8"})
    with pytest.raises(InputError, match="there is no encoding 'klingon'"):
        load(tmp_path, encoding={"nothing.txt": "klingon"})


@pytest.mark.parametrize(
    ("head", "declared", "encoding"),
    [
        ('<meta charset="gb2312">', "gbk", "gb18030"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=EUC-KR">', "cp949", "cp949"),
        ('<?xml version="1.0" encoding="Big5"?>', "cp950", "cp950"),
        ('<meta charset="windows-1251">', "cp1251", "cp1251"),
    ],
)
def test_a_page_is_in_the_encoding_that_it_declares(tmp_path: Path, head: str, declared: str, encoding: str) -> None:
    word = {"cp949": "한국", "cp1251": "да"}.get(declared, "中")
    loaded = load(write(tmp_path, {"a.html": f"{head}<p>{word}</p>".encode(declared)}))
    assert texts(loaded) == {"a": word}
    assert loaded.encodings == {"a.html": encoding}


def test_a_declaration_that_is_wrong_is_not_believed(tmp_path: Path) -> None:
    pages = {"a.html": f'<meta charset="gbk"><p>{ZH}'.encode(), "b.html": f'<meta charset="x"><p>{TW}'.encode("big5")}
    loaded = load(write(tmp_path, pages))
    assert loaded.encodings == {"b.html": "cp950"}
    assert texts(loaded) == {"a": ZH.replace("\r\n", " "), "b": TW}


def test_what_reads_as_several_languages_is_refused(tmp_path: Path) -> None:
    message = (
        r"a\.txt: byte 0xbd at 2 is not UTF-8, and reads as no one language for sure; name the file's encoding with "
        r"encoding=\.\.\., or convert it \(its bytes would pass as gb18030, "
    )
    with pytest.raises(InputError, match=message):
        load(write(tmp_path, {"a.txt": "押金".encode("gbk")}))
    with pytest.raises(InputError, match="is a binary file"):
        load(write(tmp_path, {"a.txt": ZH.encode("gbk") + b"\x01"}))


def test_a_line_of_jsonl_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    text = "中" * 50_001
    line = json.dumps({"id": "a", "text": text}, ensure_ascii=False)
    assert texts(load(write(tmp_path, {"x.jsonl": line}))) == {"a": text}


def test_control_characters_that_stand_in_text_stay(tmp_path: Path) -> None:
    text = "a\tb\x0b\x0cc\x1b[1m\x1a\x85\u2028\r"
    assert load(write(tmp_path, {"a.txt": text}) / "a.txt")[0].text == text


@pytest.mark.parametrize("encoding", ["klingon", "base64", "rot13", "", "utf\0"])
def test_an_encoding_that_does_not_exist_is_refused(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(InputError, match="there is no encoding"):
        load(write(tmp_path, {"a.txt": "x"}), encoding=encoding)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, {"a.txt.gz": gzip.compress(b"some text")[:-9]}) / "a.txt.gz"
    with pytest.raises(InputError, match=r"a\.txt\.gz: cannot be read to the end"):
        load(file)


# JSONL and BEIR


def test_every_line_of_a_jsonl_file_is_a_document(tmp_path: Path) -> None:
    lines = [
        {"id": "a", "text": "A"},
        {"_id": "b", "id": "other", "title": "T", "text": "B\r\n"},
        {"doc_id": 3, "title": " ", "text": "\ud83d\ude00"},
        {"doc": "四", "title": None, "text": " "},
    ]
    file = write(tmp_path, {"x.jsonl": "\r\n".join(map(json.dumps, lines))}) / "x.jsonl"
    loaded = load(file)
    assert texts(loaded) == {"a": "A", "b": "T\n\nB\r\n", "3": "😀", "四": ""}
    assert loaded.empty == ("四",)
    assert loaded[1].source == f"{file}, line 2"


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: is not JSON"),
        ("[1]", "line 2: holds a list, expected an object"),
        ('{"text": "x"}', "line 2: has no id (keys: text); expected one of _id, doc_id, id, doc"),
        ('{"id": " ", "text": "x"}', "line 2: `id` is empty"),
        ('{"id": 1.5, "text": "x"}', "line 2: `id` is 1.5"),
        (
            '{"id": "x"}',
            "line 2: has no `text` (keys: id); is this a file of documents? Else choose the others with pattern=...",
        ),
        ('{"id": "x", "text": null}', "line 2: `text` is None, expected text"),
        ('{"id": "x", "title": ["t"], "text": ""}', "line 2: `title` is ['t'], expected text"),
        ('{"id": "x", "text": "ab\\ud800"}', "line 2, `text`: character 2 is half of a surrogate pair (U+D800)"),
        ('{"id": "\\udc00", "text": ""}', "line 2: `id` is '\\udc00', which holds half a character"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, encoding: str, line: str, told: str) -> None:
    write(tmp_path, {"x.jsonl": f'{{"id": "ok", "text": "中"}}\n{line}\n'.encode(encoding)})
    with pytest.raises(InputError) as caught:
        load(tmp_path, encoding=encoding)
    assert f"x.jsonl, {told}" in str(caught.value)


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_a_beir_folder_gives_its_corpus_alone(tmp_path: Path, name: str) -> None:
    content = b'{"_id": "1", "title": "T", "text": "x"}\n'
    write(
        tmp_path, {name: gzip.compress(content) if name.endswith("gz") else content, "queries.jsonl": "{", "a.txt": ""}
    )
    assert texts(load(tmp_path)) == {"1": "T\n\nx"}


@pytest.mark.parametrize(
    ("parts", "n", "n_empty"), [(("cranfield", "beir"), 1400, None), (("zh_cmrc2018", "beir"), 848, 0)]
)
def test_real_beir_folders(parts: tuple[str, ...], n: int, n_empty: int | None) -> None:
    loaded = load(shared(*parts))
    assert len(loaded) == n
    assert n_empty is None or len(loaded.empty) == n_empty


def test_a_novel_keeps_its_line_ends() -> None:
    file = shared("war_and_peace", "war_and_peace_pg2600.txt.gz")
    (novel,) = load(file)
    assert novel.doc_id == "war_and_peace_pg2600"
    assert novel.text == gzip.decompress(file.read_bytes()).decode("utf-8-sig")
    assert novel.text.count("\r\n") > 60_000


# HTML


HOSTILE = [
    "<", "<a ", "<a b", "<a b=", '<a b="', "</", "<!", "<!--", "<!-- --", "<![CDATA[", "<?", "<script", "<pre>", "<p ",
    "x<", "<a <b ", "<svg/onload=", "&", "&#", "&#x", '<a href="x" ', "</p <", "<!--x--!>", "<div><span>", "<style>a</",
]  # fmt: skip


@pytest.mark.parametrize("markup", HOSTILE)
def test_time_grows_with_the_length_of_a_page_alone(markup: str) -> None:
    """Half a megabyte of each, of which many took minutes."""
    before = time.process_time()
    visible_text(markup * (500_000 // len(markup)))
    assert time.process_time() - before < 5


@pytest.mark.parametrize("case", HTML_CASES, ids=[case["label"] for case in HTML_CASES])
def test_html_cases(case: dict[str, str]) -> None:
    assert visible_text(case["input"]) == case["want"], case["comment"]


pieces = st.sampled_from(
    [*"<>&/!?-[]=\"' \nab中", "<p>", "<br>", "</", "<!", "<![", "<!--", "&#x", "<script>", "<td>", "pre>"]
)


@examples(300)
@given(st.lists(pieces, max_size=30).map("".join))
def test_broken_markup_is_read_as_far_as_it_goes(html: str) -> None:
    text = visible_text(html)
    assert not text.startswith("\n") or "pre" in html
    assert "\r" not in text


@examples(200)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<&")))
def test_plain_text_loses_nothing_but_white_space(text: str) -> None:
    assert visible_text(f"<p>{text}</p>") == re.sub(" +", " ", text).strip(" ")


# PDF


def test_pages_of_a_pdf_begin_where_it_says(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="PDF needs the extra pdf")
    write(tmp_path, {"manual.pdf": make_pdf(["First page,", "two lines inter-", "rupted."], [], ["Third page"])})
    (document,) = load(tmp_path)
    first = "First page,\ntwo lines inter-\nrupted."
    assert document.doc_id == "manual"
    assert document.text == first + PAGE_END + PAGE_END + "Third page"
    assert document.pages == (0, len(first) + 2, len(first) + 4)
    assert document.text[document.pages[2] :] == "Third page"
    names = DocumentNames.of([document])
    assert names.candidates("manual.pdf") == names.candidates(str(tmp_path / "manual.pdf")) == [0]


def test_characters_of_every_plane_are_read_from_a_pdf(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="PDF needs the extra pdf")
    table = b"1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfchar <61> <D840DC0B> <62> <4E2D> endbfchar"
    cmap = b"9 0 obj\n<< /Length %d >>\nstream\nbegincmap %s endcmap\nendstream\nendobj\n" % (len(table) + 18, table)
    pdf = (
        make_pdf(["ab"])
        .replace(b"/Helvetica >>", b"/Helvetica /ToUnicode 9 0 R >>")
        .replace(b"xref\n", cmap + b"xref\n", 1)
    )
    write(tmp_path, {"a.pdf": pdf})
    assert unicodedata.name(load(tmp_path)[0].text[0]) == "CJK UNIFIED IDEOGRAPH-2000B"
    assert load(tmp_path)[0].text == "𠀋中"


LOCK = (
    b"/Encrypt << /Filter /Standard /V 1 /R 2 /O <"
    + b"41" * 32
    + b"> /U <"
    + b"42" * 32
    + b"> /P -4 >> /ID [<00><00>] "
)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (make_pdf([], []), "has no text layer (2 pages without any text); OCR it first"),
        (make_pdf(["x"], trailer=LOCK), "is locked by a password"),
        (make_pdf(["x"])[:300], "is no PDF that can be read"),
        (b"just text", "is no PDF that can be read"),
        (b"", "is no PDF that can be read"),
    ],
)
def test_a_pdf_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes, told: str) -> None:
    pytest.importorskip("pypdfium2", reason="PDF needs the extra pdf")
    with pytest.raises(InputError) as caught:
        load(write(tmp_path, {"a.pdf": content, "b.txt": "x"}))
    assert "a.pdf: " in str(caught.value)
    assert told in str(caught.value)

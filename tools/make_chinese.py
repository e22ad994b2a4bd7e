"""Writes text/simplified.tsv and data/loading/common_chinese.txt of src/steelyard from Unicode's Unihan data.

    python tools/make_chinese.py FOLDER     with Unihan_*.txt, as they are or as .bz2 (Debian's package unicode-data)

A traditional character is in the table where Big5 has it, and where the simplified form that Unihan gives it
(kSimplifiedVariant) is one of GB 2312: what texts are written with, some 2,400.  Where there are several forms, it is
the first that is another character and in GB 2312.  CURATED and KEPT say what Unihan does not.
"""

from __future__ import annotations

import bz2
import re
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "steelyard"
N_COMMON = 800

CURATED = """
佈布 佔占 侷局 倖幸 僱雇 兇凶 剷铲 勳勋 卹恤 唸念 喫吃 噁恶 嚐尝 嚥咽 嚮向 崑昆 崙仑 嶽岳 巖岩 弔吊 彆别 彫雕 彿佛
悽凄 慾欲 捱挨 搧扇 擣捣 昇升 枴拐 柺拐 樑梁 歎叹 殭僵 氾泛 汎泛 汙污 洩泄 淒凄 淨净 湧涌 溼湿 滷卤 燉炖 燬毁 燻熏
牴抵 獃呆 痠酸 癒愈 癡痴 盃杯 祕秘 稜棱 箇个 籤签 糰团 紮扎 絃弦 綑捆 綵彩 縴纤 羨羡 羶膻 脣唇 臥卧 舖铺 菸烟 蒐搜
蓆席 託托 証证 諡谥 譁哗 譟噪 譭毁 讚赞 豔艳 踰逾 蹟迹 週周 遊游 遶绕 醃腌 醣糖 釦扣 鈅钥 鉆钻 鍊炼 鍼针 鎌镰 鎚锤
鑑鉴 闇暗 陞升 霑沾 餬糊 餵喂 饑饥 鬨哄 麴曲 齧啮 塚冢 慼戚 璿璇 甕瓮 籲吁 爲为 裏里 羣群 峯峰 綫线 麪面 衆众 牀床
産产 説说 録录 眞真 内内 溫温 閱阅 脫脱 稅税 說说 銳锐 悅悦 絕绝 戶户 靑青 淸清 敎教 强强 飮饮 鄕乡 鄰邻 諮咨 逕径
鉅巨 鹼碱
"""
"""Forms of one word that Unihan does not call traditional and simplified, or for which it gives a rarer form."""

KEPT = {
    "阪": "大阪 is written so in simplified texts too; 坂 is another word",
    "戠": "a character of its own in old texts",
    "垵": "places are written so in simplified texts too",
    "嶴": "places are written so in simplified texts too",
    "苧": "苧麻 is written so in simplified texts; 苎 is its other form",
    "薳": "a name, written so in simplified texts too",
    "吒": "哪吒 is written so in simplified texts too",
}
"""Traditional characters that stay as they are, and why."""

FOLDED = {
    "乾": "乾淨 is 干净; 乾隆 is 干隆 on both sides",
    "著": "看著 is 看着; 著名 is 着名 on both sides",
    "瞭": "瞭解 is 了解; 瞭望 is 了望 on both sides",
    "藉": "藉由 is 借由; 狼藉 is 狼借 on both sides",
    "覆": "回覆 is 回复; 覆盖 is 复盖 on both sides",
}
"""Characters that simplified texts keep in some words only; folded, as all texts that are compared are folded alike."""

HEADER = """\
# {what}
# Made by tools/make_chinese.py from the Unicode Character Database (Unihan {version}), Copyright Unicode, Inc., under
# the Unicode License, https://www.unicode.org/license.txt; changed as that script says.
"""


def main(folder: Path) -> None:
    """Write both files."""
    variants = read(folder, "Unihan_Variants", "kSimplifiedVariant")
    big5 = read(folder, "Unihan_OtherMappings", "kBigFive")
    gb2312 = read(folder, "Unihan_OtherMappings", "kGB0")
    readings = read(folder, "Unihan_Readings", "kHanyuPinlu")
    counts = {c: sum(map(int, re.findall(r"\((\d+)\)", value))) for c, value in readings.items()}
    table: dict[str, str] = {}
    for traditional in variants:
        forms = [form for form in characters(variants[traditional]) if form != traditional and form in gb2312]
        if forms and traditional in big5:
            table[traditional] = forms[0]
    table |= {pair[0]: pair[1] for pair in CURATED.split() if pair[0] != pair[1]}
    table = {old: new for old, new in table.items() if old not in KEPT}
    missing = [old for old in FOLDED if old not in table]
    if missing or (chained := set(table) & set(table.values())):
        raise SystemExit(f"missing {missing}, or chained {chained}")
    by_simplified: dict[str, list[str]] = {}
    for old, new in sorted(table.items()):
        by_simplified.setdefault(new, []).append(old)
    common_first = sorted(by_simplified, key=lambda c: (-counts.get(c, 0), c))
    rows = [f"{new}\t{''.join(by_simplified[new])}\n" for new in common_first]
    version = version_of(folder)
    header = HEADER.format(what="A simplified character, and the traditional ones that it stands for.", version=version)
    (SOURCE / "text" / "simplified.tsv").write_text(header + "".join(rows), encoding="utf-8")
    simplified = [c for c in counts if c in gb2312 and c not in table]
    common = "".join(sorted(simplified, key=lambda c: (-counts[c], c))[:N_COMMON])
    lines = [f"{common[i : i + 50]}\n" for i in range(0, N_COMMON, 50)]
    header = HEADER.format(what="The commonest characters of simplified Chinese, most common first.", version=version)
    (SOURCE / "data" / "loading" / "common_chinese.txt").write_text(header + "".join(lines), encoding="utf-8")
    print(len(table), "traditional characters,", len(by_simplified), "simplified ones")


def read(folder: Path, name: str, field: str) -> dict[str, str]:
    """Character to the value of a field."""
    rows = (line.split("\t") for line in text_of(folder, name).split("\n") if line.startswith("U+"))
    return {chr(int(row[0][2:], 16)): row[2] for row in rows if row[1] == field}


def version_of(folder: Path) -> str:
    """Of Unicode, as the file says."""
    match = re.search(r"# Unicode [Vv]ersion:? ([\d.]+)", text_of(folder, "Unihan_Variants"))
    return match[1] if match else "of unknown version"


def text_of(folder: Path, name: str) -> str:
    """Of a file of Unihan, plain or bz2."""
    plain = folder / f"{name}.txt"
    raw = plain.read_bytes() if plain.exists() else bz2.decompress(Path(f"{plain}.bz2").read_bytes())
    return raw.decode("utf-8")


def characters(value: str) -> list[str]:
    """The characters of a list such as "U+4E7E U+5E72<kMatthews"."""
    return [chr(int(item.partition("<")[0][2:], 16)) for item in value.split()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

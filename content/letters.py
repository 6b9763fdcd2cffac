"""Tells old encodings apart by the commonest letters of the languages that were written in them.

A guesser trained on whole pages needs hundreds of characters; three Chinese words in a log are enough for this. The
lists are the heads of public frequency tables (the order within them does not matter).
"""

import codecs
import re
from collections import Counter
from typing import NamedTuple


class Language(NamedTuple):
    """Letters, and the share of a text's non-ASCII letters that they make up."""

    letters: frozenset[str]
    share: float


def _language(letters: str, share: float) -> Language:
    return Language(frozenset(letters), share)


_SIMPLIFIED = _language(
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发"
    "成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分将外但身些与高意进把法此实回二理美点月明其种声全工己话儿"
    "者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平真听世气信北少关并内加化由却代产入先山五太水万市眼"
    "体别处总才场师书比住员九性通目报立马命活难神数件安表原车白应路期提感金何更反合放做系计或司利受光果界及今务制解各任至清物台记边共风接它许"
    "特直服题建南度统色字请交让认算论百义科元社术结六功指思非流每管连资队带条院变联言权往展该领传近留治决保达办运半七必城强步完区即求品转量空"
    "技程告语基式息写识极令收未持取设始版双历史商千片容研找站广改议形早音则首单据导影失网专读观争组造落视据库器志错误备份日检查确认策略讨络配置",
    0.75,
)
_TRADITIONAL = _language(
    "的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好都然沒日於起還發"
    "成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分將外但身些與高意進把法此實回二理美點月明其種聲全工己話兒"
    "者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平真聽世氣信北少關並內加化由卻代產入先山五太水萬市眼"
    "體別處總才場師書比住員九性通目報立馬命活難神數件安表原車白應路期提感金何更反合放做系計或司利受光果界及今務制解各任至清物台記邊共風接它許"
    "特直服題建南度統色字請交讓認算論百義科元社術結六功指思非流每管連資隊帶條院變聯言權往展該領傳近留治決保達辦運半七必城強步完區即求品轉量空"
    "技程告語基式息寫識極令收未持取設始版雙歷史商千片容研找站廣改議形早音則首單據導影失網專讀觀爭組造落視庫器誌錯誤備份檢查確認策略討絡配置線檔案料伺",
    0.75,
)
_JAPANESE = _language(
    "ぁあぃいぅうぇえぉおかがきぎくぐけげこごさざしじすずせぜそぞただちぢっつづてでとどなにぬねのはばぱひびぴふぶぷへべぺほぼぽまみむめも"
    "ゃやゅゆょよらりるれろわをんァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナニヌネノハバパヒビピフブプ"
    "ヘベペホボポマミムメモャヤュユョヨラリルレロワヲンヴー日一人大年出本中子見国言上分生手自行者二間事思時気会十家女三前的方入小地合後目長場代私"
    "下立部学物月田何来話体動社知理山内同心発高実作当新世今書度明五戦力名金性対意用男主通関文感業定政持道外取所現",
    0.8,
)
_KOREAN = _language(
    "이다는을의에가고하지를한은도로기사서나자일시어리아수대인그해있정부들보원제스라전과장구상으것니적국동공주여만경성관계유생중신모방위조개"
    "러비안면했무물분회선실행통치교트체발소우말요였없마않때더연학당내습각결진단명데오까용할려거음식바같간양외등세재화후력영산호반된년월민본히직"
    "운속강남백업그파터버류략설확참석검십랍합료작완패공록저드",
    0.8,
)
_RUSSIAN = _language("оеаинтсрвлкмдпуяыьгзбчйіў", 0.9)

_WESTERN = (
    "éèàêçùâîôûëïœÉÈÀÇÊ",
    "äöüßÄÖÜé",
    "áéíóúñüÁÉÍÓÚÑº",
    "ãõáéíóúâêôçàÃÇÁÉÍÓÚÂÊÔº",
    "åäöøæéÅÄÖØÆðþáíóúý",
    "àèéìòùÀÈÉ",
)
_MIXED = _language("".join(_WESTERN) + "±²³µ¼½¾¢¥§¶×÷ªº¹", 1.15)
"""Names and signs of several languages in one text: less than any one language that fits as well."""

_CENTRAL = tuple(
    _language(letters, 0.97)
    for letters in ("ąćęłńóśźżŁŚŻÓĆ", "áčďéěíňóřšťúůýžäĺľôŕÁČÍŘŠŽÚÝ", "áéíóöőúüűÁÉÖÜÓ", "ăâîșțşţĂÎŞŢ", "čćđšžČĆŠŽ")
)

_LANGUAGES: dict[str, tuple[Language, ...]] = {
    "cp1252": (*(_language(letters, 0.97) for letters in _WESTERN), _MIXED),
    "gb18030": (_SIMPLIFIED,),
    "cp932": (_JAPANESE,),
    "cp1251": (_RUSSIAN,),
    "big5hkscs": (_TRADITIONAL,),
    "cp949": (_KOREAN,),
    "euc_jp": (_JAPANESE,),
    "koi8-r": (_RUSSIAN,),
    "cp866": (_RUSSIAN,),
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": (_language("çğıöşüİâîÇĞÖŞÜ", 0.97),),
    "cp1253": (_language("αειοτνσςρπκυλημάέόίήώύθγδ", 0.85),),
    "cp1255": (_language("יוהלארתשמבנדעקחפםצגכסטןזךףץ", 0.95),),
    "cp1256": (_language("اليمونترةبعدسفهكقأحجشطصخضذءئثزغظىإآؤ", 0.95),),
    "cp874": (_language("าน่รอกเง้มยวลสีดทัคตปจ์ใิบแหขไพืึุูพซชถผ", 0.85),),
    "cp1257": (_language("ąčęėįšųūžāēģīķļņõäöü", 0.97),),
}
"""Codecs, the likelier first, and the languages written in them."""

_LATIN = frozenset(("cp1252", "cp1250", "iso8859-2", "cp1254", "cp1257"))
_OTHER_ALPHABETS = frozenset(("cp1251", "koi8-r", "cp866", "cp1253", "cp1255", "cp1256", "cp874"))
_RARER = (_LATIN | _OTHER_ALPHABETS) - {"cp1252"}
_LEAST_LETTERS = 3
"""Fewer different letters of a language are no evidence for another single-byte encoding than the commonest."""

_PUNCTUATION = frozenset(",。、:;!?「」『』()“”‘’《》【】〈〉…—–•·°©®™€£§«»¿¡„‚\u3000\u00a0") | frozenset(
    chr(code) for code in range(0xFF01, 0xFF5F)
)

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_REPEATED = re.compile(rb"([\x80-\xff])\1+")
_LATIN_RUN = 2
"""Bytes that are not ASCII, at most, between two that are, in most words of Latin letters."""

_WORD = re.compile(r"[^\W\d_]{2,}")

SAMPLE_BYTES = 8 * 1024
"""Read of the lines that are not ASCII; shares of letters settle long before."""

_ENOUGH = 0.6
_BROKEN_WEIGHS = 5
_LATER_COSTS = 0.004


def by_letters(sample: bytes) -> str | None:
    """Return the codec under which a sample reads most like a language, None if it reads like none under any."""
    sample = b"\n".join(line for line in sample.split(b"\n") if not line.isascii())[:SAMPLE_BYTES]
    excluded = _OTHER_ALPHABETS if _is_latin(sample) else _LATIN
    scores = [
        (_score(sample, codec, languages) - number * _LATER_COSTS, codec)
        for number, (codec, languages) in enumerate(_LANGUAGES.items())
        if codec not in excluded
    ]
    best, codec = max(scores)
    return codec if best >= _ENOUGH else None


def _is_latin(sample: bytes) -> bool:
    """Tell Latin letters with accents, which stand among plain ones, from alphabets whose words have no ASCII in them.

    A letter that is repeated (a line drawn of dashes) counts once.
    """
    runs = [len(run) for run in _NOT_ASCII.findall(_REPEATED.sub(rb"\1", sample))]
    return 2 * sum(length for length in runs if length <= _LATIN_RUN) >= sum(runs)


def _score(sample: bytes, codec: str, languages: tuple[Language, ...]) -> float:
    """Return how much of what is not ASCII is common in the likeliest language, 1.0 for as much as is usual there."""
    text = codecs.getincrementaldecoder(codec)("replace").decode(sample)
    found = Counter(_WORD.sub(_without_capitals, text))
    broken = _BROKEN_WEIGHS * found.pop("\ufffd", 0)
    letters = {letter: number for letter, number in found.items() if letter > "\x7f" and letter not in _PUNCTUATION}
    in_all = sum(letters.values()) + broken
    if not in_all:
        return 1.0 if codec == "cp1252" else 0.0
    known = 0.0
    for language in languages:
        common = [number for letter, number in letters.items() if letter in language.letters]
        if len(common) >= _LEAST_LETTERS or codec not in _RARER:
            known = max(known, sum(common) / language.share)
    return min(1.0, known / in_all)


def _without_capitals(word: re.Match[str]) -> str:
    """Capitals begin a word or fill it; elsewhere they are a sign of the wrong encoding (KOI8-R has them reversed)."""
    text = word.group()
    return text.lower() if text.istitle() or text.isupper() else text

import gzip
import json
import os
import resource
import shutil
from datetime import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meshwright.errors import InputError, SparkError
from meshwright.model.instance import Instance
from meshwright.storage import open_dataset
from meshwright.workload import coded, names
from meshwright.workload import ingest as stage
from meshwright.workload.ingest import ingest
from meshwright.workload.names import LONGEST_NAME, refuse_too_many
from tests.datasets import read_table

PAIRS = [("b1", "t/1"), ("b1", "t/2"), ("b2", "t/1"), ("b3", "t/3")]
MANY = [(f"b{i % 7}", f"t/{i}") for i in range(300)]  # so that one bad row stays under 1%


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def csv(rows, *, header="node,topic", end="\n") -> str:
    return end.join([header, *(f"{a},{b}" for a, b in rows)]) + end


def write(name: str, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def pairs_of(path: str | Path = "w") -> set[tuple[str, str]]:
    instance = Instance.load(path)
    return {
        (node, instance.topic_names[t])
        for i, node in enumerate(instance.node_names)
        for t in instance.topics_of(i)
    }


def rejected(path: str = "w") -> list[dict[str, str]]:
    return read_table(Path(path), "rejected").to_pylist()


def ingest_one(spark, content, name="s.csv", **options):
    return ingest(spark, [write(name, content)], "w", **options)


# Formats


JSON_LINES = "".join(f'{{"topic": "{b}", "node": "{a}"}}\n' for a, b in PAIRS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv.gz", csv(PAIRS)),
        ("s.tsv", csv(PAIRS).replace(",", "\t")),
        ("s.jsonl.gz", JSON_LINES),
    ],
)
def test_text_formats_give_the_same_workload(spark, here, name, content):
    manifest = ingest_one(spark, content, name)
    assert pairs_of() == set(PAIRS)
    assert (manifest["n_nodes"], manifest["n_topics"], manifest["n_subscriptions"]) == (3, 3, 4)
    assert manifest["n_rejected"] == manifest["n_duplicates"] == manifest["n_self_loops"] == 0
    assert manifest["digest"] == Instance.from_pairs(PAIRS).digest
    assert manifest["source"] == [name]


def test_parquet_gives_the_same_workload(spark, here):
    table = pa.table({"node": [a for a, _ in PAIRS], "topic": [b for _, b in PAIRS]})
    pq.write_table(table, "s.parquet")
    assert ingest(spark, ["s.parquet"], "w")["digest"] == Instance.from_pairs(PAIRS).digest


def test_a_directory_of_parquet_parts_is_read_as_a_whole(spark, here):
    Path("d").mkdir()
    for i, (a, b) in enumerate(PAIRS):
        pq.write_table(pa.table({"node": [a], "topic": [b]}), f"d/part-{i}.parquet")
    ingest(spark, ["d"], "w")
    assert pairs_of() == set(PAIRS)


def test_numbers_in_parquet_become_names(spark, here):
    pq.write_table(pa.table({"node": [10, 9], "topic": [1, 1]}), "s.parquet")
    ingest(spark, ["s.parquet"], "w")
    assert list(Instance.load("w").node_names) == ["10", "9"]  # in the order of text


def test_numbers_in_json_become_names_as_they_are_written(spark, here):
    numbers = ["7", "-0", "2.50", "1E5", "9" * 400, "0.1000000000000000055", "true"]
    ingest_one(spark, "".join(f'{{"node": {n}, "topic": "t"}}\n' for n in numbers), "s.jsonl")
    assert pairs_of() == {(number, "t") for number in numbers}


def test_json_values_that_are_no_names_are_rejected(spark, here):
    values = ["1e400", "-1e999", '{"a": 1}', "[1]", "[" * 99_999 + "]" * 99_999, "NaN", "01"]
    rows = check_json(spark, *(f'{{"node": "n", "topic": {value}}}' for value in values))
    assert sorted_reasons(rows) == [
        "field 'topic' is an array",
        "field 'topic' is an object",
        *2 * ["field 'topic' is not a finite number"],
        "nested too deeply",
        *2 * ["not a JSON object"],
    ]


def test_json_that_begins_too_deep_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'s.jsonl' begins with .*, which is nested too deeply"):
        ingest_one(spark, '{"node": ' + "[" * 99_999, "s.jsonl")


def test_ids_follow_the_order_of_the_sorted_names(spark, here):
    ingest_one(spark, csv([("b", "y"), ("a", "z"), ("é", "x"), ("Z", "y"), ("😀", "y")]))
    names = list(Instance.load("w").node_names)
    assert names == sorted(names) == ["Z", "a", "b", "é", "😀"]


def test_tables_have_the_types_of_the_design(spark, here):
    ingest_one(spark, csv(PAIRS))
    expected = {
        "subscriptions": [("node", "int32"), ("topic", "int32")],
        "nodes": [("node", "int32"), ("name", "string")],
        "topics": [("topic", "int32"), ("name", "string")],
        "rejected": [("source", "string"), ("record", "string"), ("reason", "string")],
    }
    assert open_dataset(Path("w"), "workload").rows.keys() == expected.keys()
    for table, columns in expected.items():
        schema = read_table(Path("w"), table).schema
        assert [(field.name, str(field.type)) for field in schema] == columns


# Columns


def test_two_columns_of_any_name_are_node_and_topic_in_this_order(spark, here):
    ingest_one(spark, csv(PAIRS, header="who,what"))
    assert pairs_of() == set(PAIRS)


def test_columns_named_node_and_topic_are_found_among_others(spark, here):
    ingest_one(spark, "at,topic,node,qos\n1,t,n,0\n")
    assert pairs_of() == {("n", "t")}


def test_columns_are_chosen_by_option(spark, here):
    ingest_one(spark, "at,who,what\n1,n,t\n", node="who", topic="what")
    assert pairs_of() == {("n", "t")}


def test_one_column_by_option_leaves_the_other_of_two(spark, here):
    ingest_one(spark, "what,who\nt,n\n", node="who")
    assert pairs_of() == {("n", "t")}


def test_columns_of_odd_names_are_found(spark, here):
    ingest_one(spark, '"a.b`c, d",x y\nn,t\n', node="a.b`c, d", topic="x y")
    assert pairs_of() == {("n", "t")}


def test_columns_of_odd_names_are_found_in_parquet(spark, here):
    pq.write_table(pa.table({"a.b`c": ["n"], "x y": ["t"], "z": [1]}), "s.parquet")
    ingest(spark, ["s.parquet"], "w", node="a.b`c", topic="x y")
    assert pairs_of() == {("n", "t")}


def test_without_a_header_columns_have_numbers(spark, here):
    ingest_one(spark, "1,n,t\n2,n,u\n", header=False, node="2", topic="3")
    assert pairs_of() == {("n", "t"), ("n", "u")}


@pytest.mark.parametrize(
    ("name", "content"),
    [("s.csv", "node,subject,x\nn,t,1\n"), ("s.jsonl", '{"node": "n", "subject": "t"}\n')],
)
def test_a_missing_column_is_named_with_those_there_are(spark, here, name, content):
    with pytest.raises(InputError, match=rf"'{name}' has no column 'topic' \(--topic\); it has: n"):
        ingest_one(spark, content, name, topic="topic")
    assert not Path("w").exists()


def test_a_missing_column_in_parquet_is_named(spark, here):
    pq.write_table(pa.table({"a": ["n"], "b": ["t"]}), "s.parquet")
    with pytest.raises(InputError, match=r"'s.parquet' has no column 'node' \(--node\); it has"):
        ingest(spark, ["s.parquet"], "w", node="node")


def test_three_columns_without_known_names_are_asked_about(spark, here):
    with pytest.raises(InputError, match=r"has 3 columns \(a, b, c\); say which hold node and top"):
        ingest_one(spark, "a,b,c\n1,2,3\n")


def test_a_column_that_is_there_twice_is_asked_about(spark, here):
    with pytest.raises(InputError, match=r"has 3 columns \(node, node, topic\); say which"):
        ingest_one(spark, "node,node,topic\n1,2,3\n")


# Rows that are wrong


def check_rejected(spark, good, bad, name="s.csv"):
    """Ingest 300 good rows with bad ones in the midst; return what became of the bad.

    Nothing of a bad row may stay behind, not even its good name.
    """
    end = b"" if good.endswith(b"\n") else b"\n"
    lines = good.splitlines(keepends=True)
    content = b"".join([*lines[:150], *(row + b"\n" for row in bad), *lines[150:], end])
    manifest = ingest_one(spark, content, name, max_rejected=0.2)
    assert manifest["n_rejected"] == manifest.rows["rejected"] == len(bad)
    assert manifest["n_read"] == manifest["n_subscriptions"] + manifest["n_rejected"]
    assert manifest["digest"] == Instance.from_pairs(MANY).digest
    assert pairs_of() == set(MANY)
    rows = rejected()
    assert {row["source"] for row in rows} == {str(Path(name).absolute())}
    return rows


def check_csv(spark, *bad):
    return check_rejected(spark, csv(MANY).encode(), [as_bytes(row) for row in bad])


def check_json(spark, *bad):
    good = "".join(json.dumps({"node": a, "topic": b}) + "\n" for a, b in MANY)
    return check_rejected(spark, good.encode(), [as_bytes(row) for row in bad], "s.jsonl")


def as_bytes(row: str | bytes) -> bytes:
    return row.encode() if isinstance(row, str) else row


def sorted_reasons(rows):
    return sorted(row["reason"] for row in rows)


def test_an_empty_name_is_rejected_and_with_it_the_whole_row(spark, here):
    rows = check_csv(spark, ",lonely-topic", "lonely-node,", '"",t', ",")
    assert sorted_reasons(rows) == [
        "node is empty",
        "node is empty",
        "node is empty; topic is empty",
        "topic is empty",
    ]


def test_a_null_in_parquet_is_an_empty_name(spark, here):
    rows = [*MANY, (None, "t")]
    columns = {"node": [a for a, _ in rows], "topic": [b for _, b in rows]}
    pq.write_table(pa.table(columns), "s.parquet")
    manifest = ingest(spark, ["s.parquet"], "w")
    assert manifest["n_rejected"] == 1
    assert manifest["digest"] == Instance.from_pairs(MANY).digest
    (row,) = rejected()
    assert row["reason"] == "node is empty"
    assert json.loads(row["record"]) == {"node": None, "topic": "t"}
    assert row["source"] == str(here / "s.parquet")


def test_a_name_of_65535_bytes_is_kept_and_one_byte_more_is_rejected(spark, here):
    longest = "é" * (LONGEST_NAME // 2) + "x"
    assert len(longest.encode()) == LONGEST_NAME
    grows = "\u0344" * (LONGEST_NAME // 2)  # two bytes each, four when decomposed in NFC
    content = f"{csv(MANY)}n,{longest}\nn,{longest}y\nn,{grows}\n"
    manifest = ingest_one(spark, content, max_rejected=0.2)
    assert manifest["n_rejected"] == 2
    assert pairs_of() == {*MANY, ("n", longest)}
    assert sorted_reasons(rejected()) == [
        "topic is 65536 bytes long, 65535 at most",
        "topic is over 65535 bytes long in NFC",
    ]


def test_control_characters_and_nul_are_rejected(spark, here):
    bad = ["\x00", "\x01", "\x1b[31m", "\x7f", "\x85", "\t"]
    names = [name for c in bad for name in (f"{c}ab", f"a{c}b", f"ab{c}")]
    rows = check_csv(spark, *(f"{name},t" for name in names[:9]), *(f"n,{n}" for n in names[9:]))
    assert set(sorted_reasons(rows)) == {
        "node holds control characters",
        "topic holds control characters",
    }


def test_a_carriage_return_inside_a_name_is_rejected(spark, here):
    check_csv(spark, "a\rb,t", "n,a\rb")


def test_control_characters_escaped_in_json_are_rejected(spark, here):
    bad = [{"node": "a\nb", "topic": "t"}, {"node": "n", "topic": "t\x00"}]
    rows = check_json(spark, *map(json.dumps, bad))
    assert sorted_reasons(rows) == [
        "node holds control characters",
        "topic holds control characters",
    ]


def test_invalid_utf8_is_rejected(spark, here):
    bad = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"]
    rows = check_csv(spark, *(b"n" + b + b",t" for b in bad))
    assert set(sorted_reasons(rows)) == {"not valid UTF-8"}
    assert all("\ufffd" in row["record"] for row in rows)


def test_invalid_utf8_in_a_binary_column_of_parquet_is_rejected(spark, here):
    rows = [*((a.encode(), b) for a, b in MANY), (b"\xff", "t")]
    columns = {"node": [a for a, _ in rows], "topic": [b for _, b in rows]}
    pq.write_table(pa.table(columns), "s.parquet")
    assert ingest(spark, ["s.parquet"], "w")["n_rejected"] == 1
    assert sorted_reasons(rejected()) == ["node is not valid UTF-8"]


def test_a_wrong_number_of_fields_is_rejected(spark, here):
    rows = check_csv(spark, "n", "n,t,u", "n,t,")
    assert set(sorted_reasons(rows)) == {"wrong number of fields, 2 expected"}
    assert sorted(row["record"] for row in rows) == ["n", "n,t,", "n,t,u"]


def test_an_unclosed_quote_is_rejected_and_swallows_nothing(spark, here):
    rows = check_csv(spark, '"n,t', 'n,"t', 'n,"t""')
    assert set(sorted_reasons(rows)) == {"unclosed quote"}


def test_a_line_that_is_no_json_object_is_rejected(spark, here):
    bad = ["[1, 2]", "nonsense", '{"node": "a"', '"text"', "5", "null", "{'node': 'n'}"]
    two = '{"node": "x", "topic": "y"} {"node": "x", "topic": "z"}'  # not half read
    surrogate = '{"node": "a\\ud800", "topic": "t"}'
    repeated = '{"node": "a", "node": "b", "topic": "t"}'
    rows = check_json(spark, *bad, two, surrogate, repeated)
    assert set(sorted_reasons(rows)) == {"not a JSON object"}


def test_a_json_object_without_a_field_is_rejected(spark, here):
    rows = check_json(spark, '{"node": "n"}', '{"node": "n", "topic": null}', "{}")
    assert sorted_reasons(rows) == [
        "field 'node' is missing",
        "field 'topic' is missing",
        "field 'topic' is missing",
    ]


def test_a_header_repeated_in_the_middle_is_rejected(spark, here):
    (row,) = check_csv(spark, "node,topic")
    assert (row["record"], row["reason"]) == ("node,topic", "repeats the header")


def test_too_many_wrong_rows_stop_with_the_first_ten_and_write_nothing(spark, here):
    content = csv(MANY[:88]) + "".join(f"only-{i}\n" for i in range(12))
    message = r"12 of 100 rows are wrong, more than --max-rejected 0\.1 allows; nothing was writt"
    with pytest.raises(InputError, match=message) as caught:
        ingest_one(spark, content, max_rejected=0.1)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("The first ten:")
    assert len([line for line in lines if "/s.csv: wrong number of fields" in line]) == 10
    assert "raise --max-rejected" in lines[-1]
    assert sorted(p.name for p in here.iterdir()) == ["s.csv"]


def test_too_many_wrong_names_stop_too(spark, here):
    with pytest.raises(InputError, match=r"1 of 5 rows are wrong(.|\n)*topic is empty"):
        ingest_one(spark, csv([*PAIRS, ("n", "")]))
    assert not Path("w").exists()


def test_malformed_rows_and_bad_names_add_up_to_what_is_allowed(spark, here):
    manifest = ingest_one(spark, f"{csv(MANY[:8])}n\n,t\n", max_rejected=0.2)
    assert manifest["n_rejected"] == 2
    assert sorted_reasons(rejected()) == ["node is empty", "wrong number of fields, 2 expected"]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_of_rejected_rows_outside_0_to_1_is_refused(spark, here, share):
    with pytest.raises(InputError, match=rf"max_rejected is {share}; give a share between 0 and 1"):
        ingest_one(spark, csv(PAIRS), max_rejected=share)


@pytest.mark.parametrize(
    "header", [b"\x00\x01\xff,\x1b[31m", b"no\rde,topic", b"node," + b"t" * 131_073], ids=repr
)
def test_a_first_line_that_is_no_header_is_refused(spark, here, header):
    with pytest.raises(InputError, match=r"'s\.csv' begins with .*, which is not a row of names"):
        ingest_one(spark, header + b"\na,x\n")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"node": ["n"], "NODE": ["n"], "topic": ["t"]}, "differ in nothing but case. Rename one"),
        ({"node": ["n"], "topic": ["t"], "at": [time(1)]}, "a type that Spark does not read"),
        ({"node": ["n"], "topic": [["t"]]}, "column 'topic' of 's.parquet' is array<string>"),
        ({"node": ["n"], "topic": [{"a": 1}]}, "is struct<a:bigint>; names are text or numbers"),
    ],
)
def test_columns_that_cannot_be_read_from_parquet_are_refused(spark, here, columns, message):
    pq.write_table(pa.table(columns), "s.parquet")
    with pytest.raises(InputError, match=rf"'s\.parquet' .*{message}|{message}"):
        ingest(spark, ["s.parquet"], "w")


def test_parquet_files_with_other_types_are_refused(spark, here):
    pq.write_table(pa.table({"node": ["n"], "topic": ["t"]}), "a.parquet")
    pq.write_table(pa.table({"node": ["n"], "topic": [7]}), "b.parquet")
    with pytest.raises(InputError, match=r"'b\.parquet' has a column of another type than"):
        ingest(spark, ["a.parquet", "b.parquet"], "w")


# Rows that are legal


def test_a_byte_order_mark_is_no_part_of_the_first_name(spark, here):
    ingest_one(spark, b"\xef\xbb\xbf" + csv(PAIRS).encode())
    assert pairs_of() == set(PAIRS)


def test_windows_line_ends_are_no_part_of_names(spark, here):
    ingest_one(spark, csv(PAIRS, end="\r\n"))
    assert pairs_of() == set(PAIRS)


def test_blank_lines_are_passed_over_and_a_last_line_without_end_counts(spark, here):
    manifest = ingest_one(spark, csv(PAIRS).replace("\n", "\n\n  \n").rstrip("\n "))
    assert manifest["n_rejected"] == 0
    assert pairs_of() == set(PAIRS)


def test_quoted_commas_quotes_backslashes_and_spaces_are_part_of_names(spark, here):
    rows = ['"a,b","say ""hi"""', '"c",d e', 'a\\,"b\\"', " a ,t", "a,t"]
    ingest_one(spark, "\n".join(["node,topic", *rows]))
    expected = {("a,b", 'say "hi"'), ("c", "d e"), ("a\\", "b\\"), (" a ", "t"), ("a", "t")}
    assert pairs_of() == expected


def test_two_forms_of_one_unicode_name_are_one_name(spark, here):
    manifest = ingest_one(spark, csv([("é", "t"), ("e\u0301", "t"), ("e\u0301", "u")]))
    assert manifest["n_nodes"] == 1
    assert manifest["n_duplicates"] == 1
    assert pairs_of() == {("é", "t"), ("é", "u")}


def test_case_is_not_folded_and_look_alikes_that_nfc_keeps_apart_stay_apart(spark, here):
    rows = [("a", "T"), ("A", "t"), ("ﬁ", "t"), ("fi", "t")]
    assert ingest_one(spark, csv(rows))["n_nodes"] == 4


def test_duplicates_are_kept_once_and_counted(spark, here):
    manifest = ingest_one(spark, csv([*PAIRS, PAIRS[0], PAIRS[0], PAIRS[2]]))
    assert manifest["n_duplicates"] == 3
    assert manifest["n_subscriptions"] == 4
    assert manifest["digest"] == Instance.from_pairs(PAIRS).digest


def test_a_node_that_is_its_own_topic_is_legal_outside_edge_lists(spark, here):
    assert ingest_one(spark, csv([("a", "a")]))["n_subscriptions"] == 1


# Files


HIDDEN = {  # files whose name Spark skips, in every format, and what they hold
    "csv": ("_one.csv", ".two.csv", "three.csv", "_four.csv.gz"),
    "jsonl": ("_one.jsonl", ".two.jsonl", "three.jsonl", "_four.jsonl.gz"),
    "edges": ("_one.edges", ".two.edges", "three.edges", "_four.edges.gz"),
    "parquet": ("_one.parquet", ".two.parquet", "three.parquet", "_four.parquet"),
}


@pytest.mark.parametrize("format", HIDDEN)
def test_files_that_spark_skips_are_read_too(spark, here, format):
    for pair, name in zip(PAIRS, HIDDEN[format], strict=True):
        if format == "parquet":
            node, topic = pair
            pq.write_table(pa.table({"node": [node], "topic": [topic]}), name)
        elif format == "csv":
            write(name, csv([pair]))
        elif format == "jsonl":
            write(name, json.dumps(dict(zip(("node", "topic"), pair, strict=True))) + "\n")
        else:
            write(name, " ".join(pair) + "\n")
    edges = {"directed": True} if format == "edges" else {}
    manifest = ingest(spark, HIDDEN[format], "w", format=format, **edges)
    assert pairs_of() == set(PAIRS)
    assert manifest["source"] == list(HIDDEN[format])
    assert manifest["sources_without_records"] == []


def test_logs_that_spark_skips_keep_the_names_of_their_brokers(spark, here):
    write("_edge7.log", "2026-01-01T00:00:00: sub 0 plant/+\n")
    write("edge8.log", "2026-01-01T00:00:00: sub 0 plant/temp\n")
    write("edge9.log", "2026-01-01T00:00:00: mosquitto version 2.0.11 running\n")
    manifest = ingest(spark, ["*.log"], "w")
    assert pairs_of() == {("_edge7", "plant/+"), ("edge8", "plant/temp")}
    assert manifest["sources_without_records"] == ["edge9.log"]


def test_a_rejected_row_of_a_file_that_spark_skips_names_that_file(spark, here):
    write("_s.csv", csv(MANY) + "a,b,c\n")
    assert ingest(spark, ["_s.csv"], "w")["n_rejected"] == 1
    assert rejected()[0]["source"] == str(here / "_s.csv")


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.jsonl"])
def test_a_path_may_go_up_and_down(spark, here, name):
    Path("a/b").mkdir(parents=True)
    Path("link").symlink_to("a/b")
    content = {"s.csv": csv(PAIRS), "s.tsv": csv(PAIRS).replace(",", "\t"), "s.jsonl": JSON_LINES}
    write(f"a/{name}", content[name])
    for path in (f"a/b/../{name}", f"./a/../a/{name}", f"link/../{name}"):
        assert ingest(spark, [path], "w", force=True)["n_subscriptions"] == len(PAIRS)


def test_an_empty_file_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'s.csv' is empty"):
        ingest_one(spark, "")


def test_a_file_of_blank_lines_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'s.csv' holds no line of data"):
        ingest_one(spark, "\n\n")


def test_a_header_and_nothing_else_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'s.csv' holds no subscription"):
        ingest_one(spark, "node,topic\n")
    assert not Path("w").exists()


def test_a_file_that_is_not_there_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'gone.csv' does not exist"):
        ingest(spark, ["gone.csv"], "w")


def test_an_unreadable_file_is_refused(spark, here, monkeypatch):
    write("s.csv", csv(PAIRS))
    opened = Path.open

    def refuse(self, *arguments, **options):
        if self.name == "s.csv":
            raise PermissionError(13, os.strerror(13), str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"'s.csv' cannot be read: Permission denied"):
        ingest(spark, ["s.csv"], "w")


@pytest.mark.parametrize("name", ["s.csv.gz", "s.edges.gz"])
def test_a_truncated_gzip_is_refused_and_nothing_is_written(spark, here, name):
    rows = [(f"n{i * 7919 % 100_003}", f"t{i}") for i in range(5000)]
    text = csv(rows) if "csv" in name else "".join(f"{a} {b}\n" for a, b in rows)
    data = gzip.compress(text.encode())
    Path(name).write_bytes(data[: len(data) // 2])
    directed = True if "edges" in name else None
    with pytest.raises(InputError, match=rf"'{name}' is truncated or corrupt\. Nothing was writt"):
        ingest(spark, [name], "w", directed=directed)
    assert [p.name for p in here.iterdir()] == [name]


def test_a_file_that_is_no_gzip_is_refused(spark, here):
    Path("s.csv.gz").write_bytes(b"node,topic\nn,t\n")
    with pytest.raises(InputError, match=r"'s.csv.gz' is truncated or corrupt"):
        ingest(spark, ["s.csv.gz"], "w")


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz"])
def test_a_line_that_is_too_long_is_refused(spark, here, name):
    content = csv([("b", "t" * 1014), ("b", "t" * 1023), ("b", "t")])  # 1016 and 1025 bytes
    with pytest.raises(InputError, match=rf"line 3 of '{name}' is longer than 1,024 bytes\. Check"):
        ingest_one(spark, content, name, max_line=1024)
    with pytest.raises(InputError, match="max_line is 1023; give 1,024 to 1,073,741,824 bytes"):
        ingest_one(spark, content, name, max_line=1023)
    ingest_one(spark, content, name, max_line=1025)


def test_a_file_that_is_no_parquet_is_refused(spark, here):
    with pytest.raises(InputError, match=r"'s.parquet' cannot be read"):
        ingest_one(spark, "node,topic\nn,t\n", "s.parquet")


def test_a_parquet_page_that_points_beyond_its_dictionary_is_refused(spark, here):
    names = [f"name{i % 28}" for i in range(600)]
    table = pa.table({"node": names, "topic": names})
    pq.write_table(table, "s.parquet", compression="none", use_dictionary=True)
    column = pq.ParquetFile("s.parquet").metadata.row_group(0).column(0)
    end = column.dictionary_page_offset + column.total_compressed_size
    content = bytearray(Path("s.parquet").read_bytes())
    content[end - 40 : end - 8] = b"\xff" * 32  # 5 bits an entry: number 31, and there are 28
    Path("s.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"'s.parquet' cannot be read\. Nothing was written"):
        ingest(spark, ["s.parquet"], "w")
    assert not Path("w").exists()


def test_a_truncated_parquet_file_is_refused(spark, here):
    pq.write_table(pa.table({"node": ["n"] * 99, "topic": ["t"] * 99}), "s.parquet")
    Path("s.parquet").write_bytes(Path("s.parquet").read_bytes()[:-20])
    with pytest.raises(InputError, match=r"'s.parquet' cannot be read"):
        ingest(spark, ["s.parquet"], "w")


def test_a_directory_that_is_no_dataset_is_refused(spark, here):
    Path("d").mkdir()
    write("d/s.csv", csv(PAIRS))
    with pytest.raises(InputError, match=r"'d' is a directory without Parquet files"):
        ingest(spark, ["d"], "w")


def test_a_target_that_exists_is_kept(spark, here):
    ingest_one(spark, csv(PAIRS))
    with pytest.raises(InputError, match=r"exists\. Pass --force"):
        ingest_one(spark, csv([("x", "y")]))
    assert pairs_of() == set(PAIRS)
    ingest_one(spark, csv([("x", "y")]), force=True)
    assert pairs_of() == {("x", "y")}


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits other processes")
def test_a_disk_that_takes_no_more_is_told_and_leaves_nothing_behind(spark, here):
    spark.range(1).write.parquet(str(here / "first"))  # Spark unpacks its codec before the limit
    shutil.rmtree(here / "first")
    content = csv([(f"n{i * 7919 % 100_003}", f"t{i}") for i in range(5000)])
    jvm = spark.sparkContext._gateway.proc.pid
    limits = resource.prlimit(jvm, resource.RLIMIT_FSIZE)
    resource.prlimit(jvm, resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"/w' cannot be written: file too large\. Free some"):
            ingest_one(spark, content)
    finally:
        resource.prlimit(jvm, resource.RLIMIT_FSIZE, limits)
    assert [p.name for p in here.iterdir()] == ["s.csv"]


def test_a_run_that_fails_leaves_the_old_dataset(spark, here):
    ingest_one(spark, csv(PAIRS))
    with pytest.raises(InputError, match="rows are wrong"):
        ingest_one(spark, csv([("x", "")]), force=True)
    assert pairs_of() == set(PAIRS)


def test_several_files_and_globs_are_one_workload_each_with_its_header(spark, here):
    for i, pair in enumerate(PAIRS):
        write(f"part-{i}.csv", csv([pair]))
    write("more.csv", csv([("x", "y")]))
    manifest = ingest(spark, ["part-*.csv", "more.csv"], "w")
    assert pairs_of() == {*PAIRS, ("x", "y")}
    assert len(manifest["source"]) == 5
    assert manifest["n_rejected"] == 0


def test_files_with_other_headers_are_refused(spark, here):
    write("a.csv", csv(PAIRS))
    write("b.csv", csv(PAIRS, header="topic,node"))
    with pytest.raises(InputError, match=r"'b.csv' begins with 'topic,node', but 'a.csv'"):
        ingest(spark, ["a.csv", "b.csv"], "w")


def test_odd_file_names_are_taken_as_they_are(spark, here):
    names = ["a [1], b.csv", "{x}*?.csv", "ü ñ%20#+.csv", "a\\b^c.csv"]
    for name, pair in zip(names, PAIRS, strict=True):
        write(name, csv([pair]) + "n\n")
    ingest(spark, names, "out [1], %20 {b}/w #1+", max_rejected=0.5)
    assert pairs_of("out [1], %20 {b}/w #1+") == set(PAIRS)
    found = {Path(row["source"]).name for row in rejected("out [1], %20 {b}/w #1+")}
    assert found == set(names)


# Edge lists

EDGES = "# from to\na b\nb\tc\n  c   a\na a\nb a\n"


def test_directed_edges_say_who_subscribes_to_whom(spark, here):
    manifest = ingest_one(spark, EDGES, "s.edges", directed=True)
    assert pairs_of() == {("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")}
    assert manifest["n_self_loops"] == 1
    assert manifest["n_duplicates"] == 0
    assert manifest["n_nodes"] == manifest["n_topics"] == 3


def test_friends_subscribe_to_each_other(spark, here):
    manifest = ingest_one(spark, EDGES, "s.edges", directed=False)
    assert pairs_of() == {(a, b) for a in "abc" for b in "abc" if a != b}
    assert manifest["n_self_loops"] == 1
    assert manifest["n_rejected"] == 0


def test_in_edge_lists_every_user_is_a_node_and_a_topic(spark, here):
    ingest_one(spark, "x y\n", "s.edges", directed=True)
    instance = Instance.load("w")
    assert list(instance.node_names) == list(instance.topic_names) == ["x", "y"]
    assert instance.indptr.tolist() == [0, 1, 1]


def test_a_user_with_nothing_but_a_self_loop_stays_a_node(spark, here):
    manifest = ingest_one(spark, "a b\nc c\n", "s.edges", directed=True)
    assert manifest["n_nodes"] == 3
    assert manifest["n_self_loops"] == 1


def test_an_edge_needs_exactly_two_names(spark, here):
    lines = "".join(f"{a} {b}\n" for a, b in MANY)
    manifest = ingest_one(spark, f"{lines}a\na b 1\n", "s.edges.gz", directed=True)
    assert manifest["n_rejected"] == 2
    assert sorted_reasons(rejected()) == ["2 names expected, got 1", "2 names expected, got 3"]
    assert pairs_of() == set(MANY)


def test_an_edge_list_must_say_its_direction(spark, here):
    with pytest.raises(InputError, match=r"an edge list needs --directed .* or --undirected"):
        ingest_one(spark, EDGES, "s.edges")


def test_only_edge_lists_have_a_direction(spark, here):
    with pytest.raises(InputError, match="--directed and --undirected belong to edge lists"):
        ingest_one(spark, csv(PAIRS), directed=True)


def test_edge_lists_have_no_columns(spark, here):
    with pytest.raises(InputError, match="an edge list has no columns to name"):
        ingest_one(spark, EDGES, "s.edges", directed=True, node="a")


# Mosquitto logs; tests/e2e makes real ones


def test_a_log_gives_what_a_broker_must_get(spark, here):
    log = (
        "1700000000: mosquitto version 2.0.18 starting\n"
        "1700000001: New client connected from 127.0.0.1:5 as c 1 (p2, c1, k60).\n"
        "1700000002: sensor 0 plant/+/temp\n"
        "2026-01-01T10:00:00: panel app 2 plant/#\n"
        "panel 1 a b 2 c\n"
        "1700000003: worker 1 $share/group/jobs/new\n"
        "1700000004: monitor 0 $SYS/broker/load/#\n"
        "1700000005: Client sensor disconnected.\n"
    )
    manifest = ingest_one(spark, log, "edge-7.log")
    topics = {"plant/+/temp", "plant/#", "a b 2 c", "jobs/new"}
    assert pairs_of() == {("edge-7", topic) for topic in topics}
    assert manifest["n_rejected"] == 0


def test_each_log_is_a_broker_by_its_file_name(spark, here):
    write("north.log", "1: c 0 t\n")
    write("süd+2.log.gz", "1: c 0 t\n")
    ingest(spark, ["*.log*"], "w", format="mosquitto-log")
    assert pairs_of() == {("north", "t"), ("süd+2", "t")}


def test_the_broker_of_a_log_can_be_named(spark, here):
    ingest_one(spark, "1: c 0 t\n", "mosquitto.log", node="north")
    assert pairs_of() == {("north", "t")}


def test_a_log_with_invalid_utf8_says_so(spark, here):
    lines = "".join(f"1: c 0 {b}\n" for _, b in MANY).encode()
    manifest = ingest_one(spark, lines + b"1: c 0 \xff\n", "b.log")
    assert manifest["n_rejected"] == 1
    assert sorted_reasons(rejected()) == ["not valid UTF-8"]


def test_a_log_without_subscriptions_says_how_to_get_them(spark, here):
    with pytest.raises(InputError, match=r"'b.log' holds no subscribe line\. Set `log_type subsc"):
        ingest_one(spark, "1: mosquitto version 2.0.18 starting\n", "b.log")


def test_a_log_has_no_topic_column(spark, here):
    with pytest.raises(InputError, match="a Mosquitto log has no topic column"):
        ingest_one(spark, "1: c 0 t\n", "b.log", topic="t")


# Ids, keys, partitions


def test_more_names_than_ids_are_refused():
    refuse_too_many(2**31 - 2, "node")
    with pytest.raises(InputError, match=r"2,147,483,647 nodes are more than int32 ids can number"):
        refuse_too_many(2**31 - 1, "node")


def test_names_are_checked_and_sorted_alike_wherever_they_are_numbered(spark, here, monkeypatch):
    odd = ["caf\u00e9", "cafe\u0301", "Z", "a", "\u00fc", "\ud7ff", "\U0001f600", "\uffee", "a b"]
    rows = [(name, f"t/{name}") for name in odd]
    wrong = 'x,\ny,"\x01"\n' + f"{'long' * 20_000},t\n"
    found = []
    for n_rows, n_bytes in ((names.HERE_ROWS, names.HERE_BYTES), (-1, names.HERE_BYTES), (-1, 0)):
        monkeypatch.setattr(names, "HERE_ROWS", n_rows)
        monkeypatch.setattr(names, "HERE_BYTES", n_bytes)
        manifest = ingest_one(spark, csv(MANY + rows) + wrong, max_rejected=0.5, force=True)
        rejected = sorted(
            (row["record"], row["reason"]) for row in read_table("w", "rejected").to_pylist()
        )
        facts = [manifest[name] for name in ("digest", "node_names_digest", "n_rejected")]
        found.append((facts, rejected, list(Instance.load("w").node_names)))
    assert found[0] == found[1] == found[2]
    assert found[0][0][2] == 3


def test_odd_names_get_the_same_ids_by_codes_and_by_joins(spark, here, monkeypatch):
    odd = ["caf\u00e9", "cafe\u0301", "Z", "a", "\u00fc", "\ud7ff", "\U0001f600", "\uffee", "a b"]
    rows = [(name, f"t/{other}") for name in odd for other in odd[:3]]
    found = []
    for n_bytes in (coded.MOST_BYTES, 0):
        monkeypatch.setattr(coded, "MOST_BYTES", n_bytes)
        manifest = ingest_one(spark, csv(MANY + rows), force=True)
        facts = [manifest[name] for name in ("digest", "n_duplicates", "n_rejected")]
        found.append((facts, list(Instance.load("w").node_names)))
    assert found[0] == found[1]
    assert len(found[0][1]) == 7 + len(odd) - 1  # both ways to write the e are one name


def test_ingest_refuses_more_names_than_ids_and_writes_nothing(spark, here, monkeypatch):
    monkeypatch.setattr(names, "MOST_IDS", 2)
    with pytest.raises(InputError, match=r"3 nodes are more than int32 ids can number \(2\)"):
        ingest_one(spark, csv(PAIRS))
    assert [p.name for p in here.iterdir()] == ["s.csv"]


def colliding_until(salt_that_works):
    """Return a key that gives all names of a length one key, until the salt is high enough."""
    real = names.name_key

    def key(column, salt):
        from pyspark.sql import functions as F

        if salt < salt_that_works:
            return F.length(F.col(column)).cast("long")
        return real(column, salt)

    return key


@pytest.fixture(params=["here", "here from files", "on Spark"])
def numbering(request, monkeypatch):
    """The ways to number names; small inputs use the first."""
    if request.param != "here":
        monkeypatch.setattr(names, "HERE_ROWS", -1)
    if request.param == "on Spark":
        monkeypatch.setattr(names, "HERE_BYTES", 0)
    return request.param


def test_names_that_share_a_key_get_new_keys(spark, here, monkeypatch, numbering):
    for module in (names, stage):
        monkeypatch.setattr(module, "name_key", colliding_until(2))
    manifest = ingest_one(spark, f"{csv(MANY)}n,\n")
    assert manifest["n_rejected"] == 1
    assert manifest["digest"] == Instance.from_pairs(MANY).digest
    assert pairs_of() == set(MANY)


def test_names_that_share_every_key_are_an_error(spark, here, monkeypatch, numbering):
    for module in (names, stage):
        monkeypatch.setattr(module, "name_key", colliding_until(names.SALTS))
    with pytest.raises(SparkError, match="names share a 64-bit key under 8 salts"):
        ingest_one(spark, f"{csv(MANY)}n,\n")


@pytest.mark.parametrize("way", ["coded", "coded in small segments", "on Spark"])
@pytest.mark.parametrize("undirected", [False, True])
def test_the_digest_does_not_depend_on_partitions(
    spark, here, monkeypatch, request, undirected, way
):
    if way == "on Spark":
        monkeypatch.setattr(coded, "MOST_BYTES", 0)
    if way == "coded in small segments":
        monkeypatch.setattr(coded, "MERGE_BYTES", 1000)
        monkeypatch.setattr(coded, "SEGMENT_ROWS", 1)
        batch_rows = "spark.sql.execution.arrow.maxRecordsPerBatch"
        before = spark.conf.get(batch_rows)
        request.addfinalizer(lambda: spark.conf.set(batch_rows, before))
        spark.conf.set(batch_rows, "400")
    monkeypatch.setattr(names, "HERE_ROWS", -1)
    monkeypatch.setattr(names, "HERE_BYTES", 0)
    monkeypatch.setattr(names, "PARTITION_NAMES", 50)  # or small inputs have one part
    rows = [(f"n{i * 37 % 701:03d}", f"n{i * i % 613:03d}") for i in range(3000)]
    write("s.edges", "".join(f"{a} {b}\n" for a, b in rows))
    digests = set()
    for partitions in (1, 5):
        monkeypatch.setattr(stage, "parallelism", lambda _, n=partitions: n)
        manifest = ingest(spark, ["s.edges"], "w", directed=not undirected, force=True)
        digests.add(manifest["digest"])
    users = {name for row in rows for name in row}
    pairs = {(a, b) for a, b in rows if a != b}
    if undirected:
        pairs |= {(b, a) for a, b in pairs}
    instance = Instance.load("w")
    assert pairs_of() == pairs
    assert list(instance.node_names) == sorted(users)
    assert len(digests) == 1
    plain = Instance(instance.node_names, instance.topic_names, instance.indptr, instance.topics)
    assert digests == {plain.digest}


def test_names_joined_by_shuffle_give_the_same_digest(spark, here, monkeypatch):
    monkeypatch.setattr(coded, "MOST_BYTES", 0)
    monkeypatch.setattr(names, "BROADCAST_NAMES", 0)
    assert ingest_one(spark, csv(MANY))["digest"] == Instance.from_pairs(MANY).digest

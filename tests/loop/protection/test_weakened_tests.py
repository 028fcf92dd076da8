"""Tests that are deleted, skipped, emptied or assert less are reported, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.protection.suites.read_suite import may_hold_tests, suite_of
from bridle.loop.protection.weakened_tests import find_weakened

PYTHON = """import pytest


def test_a():
    assert f() == 1
    assert g()


class TestB:
    def test_c(self):
        self.assertEqual(1, f())
"""
SCRIPT = """describe('sums', () => {
  it('adds', () => {
    expect(1 + 1).toBe(2); // http://x
  });
  test('subtracts', async () => { expect(2 - 1).toBe(1) });
});
"""
GO = """package a

func TestA(t *testing.T) {
\tif f() != 1 {
\t\tt.Fatal("x")
\t}
}

func TestB(t *testing.T) {
\tt.Error(1)
}
"""
RUST = """fn f() -> i32 { 1 }

#[cfg(test)]
mod tests {
    #[test]
    fn a() { assert_eq!(f(), 1); }
    #[tokio::test]
    async fn b() { assert!(f() == 1); }
}
"""
RUBY = """describe 'x' do
  it 'adds' do
    expect(1).to eq 1
  end
  it 'subtracts' do
    expect(1).to eq 1
  end
end
"""
MINITEST = "class T\n  def test_a\n    assert 1\n  end\n  def test_b\n    assert 2\n  end\nend\n"
JAVA = "class A {\n @Test\n public void a() { assertEquals(1, 1); }\n @Test\n void b() { assertTrue(x); }\n}\n"
PHP = "<?php\nclass A {\n function testA() { $this->assertTrue(x); }\n}\n"


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "said"),
    [
        ("tests/test_a.py", PYTHON, "def test_a", "@pytest.mark.skip\ndef test_a", ["1 test (test_a) now skipped"]),
        ("tests/test_a.py", PYTHON, "def test_a", "@pytest.mark.xfail(1)\ndef test_a", ["1 test (test_a) now skipped"]),
        ("tests/test_a.py", PYTHON, "class", "@unittest.skip('x')\nclass", ["1 test (TestB.test_c) now skipped"]),
        ("tests/test_a.py", PYTHON, "    assert f", "    pytest.skip()\n    assert f", ["1 test (test_a) now skipped"]),
        (
            "tests/test_a.py",
            PYTHON,
            "        self.a",
            "        raise SkipTest\n        self.a",
            ["1 test (TestB.test_c) now skipped"],
        ),
        (
            "tests/test_a.py",
            PYTHON,
            "import pytest",
            "import pytest\npytestmark = [pytest.mark.skip]",
            ["2 tests (test_a, TestB.test_c) now skipped"],
        ),
        (
            "tests/test_a.py",
            PYTHON,
            "    def test_c",
            "    __test__ = False\n    def test_c",
            ["1 test (TestB.test_c) now skipped"],
        ),
        ("tests/test_a.py", PYTHON, "    assert g()\n", "", ["1 test (test_a: 2 before, 1 now) with fewer assertions"]),
        (
            "tests/test_a.py",
            PYTHON,
            "assert g()",
            "assert g() or True",
            ["1 test (test_a: 2 before, 1 now) with fewer assertions"],
        ),
        ("tests/test_a.py", PYTHON, "assert f() == 1\n    assert g()", "pass", ["1 test (test_a) now empty"]),
        ("tests/test_a.py", PYTHON, "assert f() == 1\n    assert g()", "assert True", ["1 test (test_a) now empty"]),
        ("tests/test_a.py", PYTHON, "    assert f", "    return\n    assert f", ["1 test (test_a) now empty"]),
        ("tests/test_a.py", PYTHON, "def test_a", "def not_a", ["1 test (test_a) deleted"]),
        ("tests/test_a.py", PYTHON, "f() == 1", "f() == 2", []),
        ("tests/test_a.py", PYTHON, "TestB", "TestOther", []),
        ("tests/test_a.py", PYTHON, "def test_a():", "def test_new():\n    pass\n\n\ndef test_a():", []),
        ("a.test.ts", SCRIPT, "it('adds'", "it.skip('adds'", ["1 test (adds) now skipped"]),
        ("a.test.ts", SCRIPT, "it('adds'", "xit('adds'", ["1 test (adds) now skipped"]),
        ("a.test.ts", SCRIPT, "test('sub", "test.todo('sub", ["1 test (subtracts) now skipped"]),
        ("a.test.ts", SCRIPT, "describe(", "describe.skip(", ["1 test (sums) now skipped"]),
        ("a.test.ts", SCRIPT, "it('adds'", "it.only('adds'", ["some tests are now marked to run exclusively"]),
        ("a.test.ts", SCRIPT, "it('adds'", "fit('adds'", ["some tests are now marked to run exclusively"]),
        ("a.test.ts", SCRIPT, "{ expect(2 - 1).toBe(1) }", "{}", ["1 test (subtracts) now empty"]),
        ("a.test.ts", SCRIPT, "  test('sub", "  // test('sub", ["1 test (subtracts) deleted"]),
        ("a.test.ts", SCRIPT, "toBe(2)", "toBe(3)", []),
        ("a_test.go", GO, "\tif f()", "\tt.Skip()\n\tif f()", ["1 test (TestA) now skipped"]),
        ("a_test.go", GO, "func TestA", "func testA", ["1 test (TestA) deleted"]),
        ("a_test.go", GO, "package a", "//go:build ignore\n\npackage a", ["2 tests (TestA, TestB) now skipped"]),
        ("a_test.go", GO, "\n\tt.Error(1)\n", "", ["1 test (TestB) now empty"]),
        ("src/lib.rs", RUST, "#[test]\n", "#[test]\n    #[ignore]\n", ["1 test (a) now skipped"]),
        ("src/lib.rs", RUST, "#[tokio::test]", '#[ignore = "x"]\n    #[tokio::test]', ["1 test (b) now skipped"]),
        ("src/lib.rs", RUST, "    #[test]\n", "", ["1 test (a) deleted"]),
        ("src/lib.rs", RUST, "fn f() -> i32 { 1 }", "fn f() -> i32 { 2 }", []),
        ("spec/a_spec.rb", RUBY, "it 'adds'", "xit 'adds'", ["1 test (adds) now skipped"]),
        ("spec/a_spec.rb", RUBY, "    expect", "    skip\n    expect", ["1 test (adds) now skipped"]),
        ("spec/a_spec.rb", RUBY, "    expect(1).to eq 1\n", "", ["1 test (adds) now empty"]),
        ("test/a_test.rb", MINITEST, "test_a", "not_a", ["1 test (test_a) deleted"]),
        ("src/test/ATest.java", JAVA, "@Test\n public", "@Disabled @Test\n public", ["1 test (a) now skipped"]),
        ("src/test/ATest.java", JAVA, "@Test\n void", "void", ["1 test (b) deleted"]),
        ("tests/ATest.php", PHP, "$this", "$this->markTestSkipped(); $this", ["1 test (testA) now skipped"]),
    ],
)
def test_a_weakened_test_is_reported(path: str, text: str, old: str, new: str, said: list[str]) -> None:
    assert old in text
    assert may_hold_tests(path)
    assert suite_of(path, text).by_name
    assert [report.what for report in find_weakened({path: text}, {path: text.replace(old, new, 1)})] == said


def test_a_deleted_file_is_reported_with_its_tests() -> None:
    many = "".join(f"def test_{n}():\n    assert f({n})\n" for n in range(8))
    reports = find_weakened({"tests/test_a.py": many, "tests/empty.py": ""}, {})
    assert [(report.path, report.what) for report in reports] == [
        ("tests/test_a.py", "it was deleted with 8 tests (test_0, test_1, test_2, test_3, test_4 and 3 more)")
    ]


def test_a_moved_test_is_not_reported() -> None:
    half, rest = PYTHON[: PYTHON.index("class")], PYTHON[PYTHON.index("class") :]
    assert find_weakened({"tests/test_a.py": PYTHON}, {"tests/test_a.py": half, "tests/test_b.py": rest}) == []
    assert find_weakened({"tests/test_a.py": PYTHON}, {"tests/unit/test_a.py": PYTHON}) == []


def test_one_of_two_tests_of_a_name_is_reported_if_it_is_deleted() -> None:
    twice = SCRIPT + SCRIPT
    assert [item.what for item in find_weakened({"a.test.js": twice}, {"a.test.js": SCRIPT})] == [
        "3 tests (sums #2, adds #2, subtracts #2) deleted"
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_a.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("tests/helper.py", True),
        ("src/app.py", False),
        ("src/app.spec.tsx", True),
        ("src/__tests__/app.js", True),
        ("src/app.js", False),
        ("a_test.go", True),
        ("src/lib.rs", True),
        ("tests/data.json", False),
    ],
)
def test_where_tests_may_be(path: str, expected: bool) -> None:
    assert may_hold_tests(path) is expected


@pytest.mark.parametrize(
    "path", ["a_test.py", "a.test.ts", "a_test.go", "a.rs", "a_spec.rb", "ATest.java", "ATest.php"]
)
@given(text=st.text(alphabet="ab#[]@(){}'\"\n\t :=>testifdxoln.*/", max_size=80))
def test_any_text_is_parsed(path: str, text: str) -> None:
    assert find_weakened({path: text}, {path: text}) == []

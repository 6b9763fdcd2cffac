# ruff: noqa: E501
"""Builds and tests that fail as users make them fail: how each is made, and what a first look at it has to name.

Every log is printed by a real tool about a real package of PyPI, npm or Debian, pinned by version.
"""

from dataclasses import dataclass

PYTHON_TOOLS = (
    "pytest==8.3.4 pytest-xdist==3.6.1 mypy==1.14.1 pyright==1.1.391 ruff==0.8.6 flake8==7.1.1 pylint==3.3.3"
    " nox==2024.10.9 sphinx==8.1.3 asgiref==3.8.1 sqlparse==0.5.3 markupsafe==3.0.2 black==24.10.0 pybind11==2.13.6"
    " setuptools==75.8.0 wheel==0.45.1 meson==1.6.1 ninja==1.11.1.3"
).split()
NODE_TOOLS = (
    "jest@29.7.0 mocha@11.0.1 vitest@2.1.8 typescript@5.7.2 eslint@9.17.0 rxjs@7.8.1 lodash@4.17.21 express@4.21.2"
    " webpack@5.97.1 webpack-cli@6.0.1 esbuild@0.24.2 tape@5.9.0 qs@6.13.1 semver@7.6.3 object-inspect@1.13.3"
    " prettier@3.4.2 stylelint@16.12.0"
).split()
DEBIAN_TOOLS = "golang-go ruby ruby-rspec junit4 maven cargo default-jdk-headless cmake g++ perl".split()
"""Not fetched: where one of them is not installed, its failures are left out."""


@dataclass(frozen=True)
class Failure:
    """One output.

    Attributes:
        name: of its log.
        command: what prints it, in bash, in a directory of its own.
        prepare: fetches and breaks; what it prints is not kept.
    """

    name: str
    command: str
    prepare: str = ""


FAILURES = [
    # packages that do not compile
    Failure("pip-greenlet", "wheel greenlet 0.4.15 -v"),
    Failure("pip-python-ldap", "wheel python-ldap 3.4.4 -v"),
    Failure("pip-pycrypto", "wheel pycrypto 2.6.1"),
    Failure("pip-mysqlclient", "wheel mysqlclient 2.2.0"),
    Failure("pip-pygraphviz", "wheel pygraphviz 1.11 -v"),
    Failure("pip-pyyaml", "wheel pyyaml 5.4.1"),
    Failure("pip-suds", "wheel suds-jurko 0.6"),
    Failure("pip-typed-ast", "wheel typed-ast 1.4.0 -v"),
    Failure("pip-pyodbc", "wheel pyodbc 4.0.35 -v"),
    Failure("pip-contourpy", "CXX=c++-14 wheel contourpy 1.3.1 -v"),
    Failure("pip-rpds", "CARGO_NET_OFFLINE=true wheel rpds-py 0.22.3 -v"),
    # resolution
    Failure("pip-conflict", "$PY -m pip download -d . botocore==1.29.0 urllib3==2.0.7 boto3==1.34.0"),
    Failure("pip-no-version", "$PY -m pip download -d . django==5.2.8 numpy==99.1"),
    Failure("uv-conflict", "echo 'botocore==1.29.0\nurllib3==2.0.7' | uv pip compile -"),
    Failure(
        "npm-eresolve",
        "npm install --no-audit --no-fund react@18.3.1 @material-ui/core@4.12.4 react-dom@18.3.1",
        prepare="npm init -y",
    ),
    Failure(
        "npm-ci",
        "npm ci",
        prepare="cp $BENCH/work/project/package*.json . && npm pkg set dependencies.webpack=5.90.0 dependencies.lodash=4.17.20",
    ),
    Failure("npm-404", "npm install --verbose left-padd-of-bursar@9.9.9", prepare="npm init -y"),
    # C and C++
    Failure(
        "make-hiredis",
        "make -k -C hiredis-3.1.0/vendor/hiredis alloc.o async.o hiredis.o net.o read.o sds.o sockcompat.o",
        prepare="sdist hiredis 3.1.0 && sed -i 's/obuf;/outbuf;/' hiredis-3.1.0/vendor/hiredis/hiredis.h"
        " && echo 'CFLAGS = -Wall -Wextra -O2' > hiredis-3.1.0/vendor/hiredis/Makefile",
    ),
    Failure(
        "ld-hiredis",
        "cd hiredis-3.1.0/vendor/hiredis && gcc -o client main.c alloc.c hiredis.c read.c net.c sockcompat.c sds.c",
        prepare="""sdist hiredis 3.1.0 && cd hiredis-3.1.0/vendor/hiredis && echo '#include "hiredis.h"
int main(void) { return redisConnect("localhost", 6379) == 0; }' > main.c""",
    ),
    Failure(
        "ld-no-library",
        "cd hiredis-3.1.0/vendor/hiredis && gcc -v -o client main.c alloc.c hiredis.c -lhiredis_ssl",
        prepare="sdist hiredis 3.1.0 && cd hiredis-3.1.0/vendor/hiredis && echo 'int main(void) { return 0; }' > main.c",
    ),
    Failure(
        "g++-pybind11",
        "g++ -std=c++17 $($PY -m pybind11 --includes) -c bound.cc",
        prepare="""cat > bound.cc <<'END'
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <map>
struct Point { int x, y; };
static int norm(const Point &p) { return p.x * p.x + p.y * p.y; }
PYBIND11_MODULE(bound, m) {
    pybind11::class_<Point>(m, "Point").def(pybind11::init<int, int, std::string>());
    m.def("norm", norm, pybind11::arg("p"), 7);
    std::map<Point, int> seen;
    seen[Point{1, 2}] = norm("x");
}
END""",
    ),
    Failure(
        "cmake-find",
        "cmake -S . -B build",
        prepare="""sdist Brotli 1.1.0 && mv [Bb]rotli-1.1.0/* . && cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(brotli C)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest 1.12 CONFIG REQUIRED)
add_library(brotli c/common/constants.c)
target_link_libraries(brotli GTest::gtest)
END""",
    ),
    Failure(
        "cmake-build",
        "cmake --build build -j2 -- -k",
        prepare="""sdist Brotli 1.1.0 && mv [Bb]rotli-1.1.0/* . && cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.10)
project(brotli C)
file(GLOB SOURCES c/common/*.c c/dec/*.c c/enc/*.c)
add_library(brotli ${SOURCES})
target_include_directories(brotli PUBLIC c/include)
END
sed -i 's/ringbuffer_size;/ring_size;/' c/dec/state.h; cmake -S . -B build""",
    ),
    Failure(
        "asan",
        "cd hiredis-3.1.0/vendor/hiredis && gcc -g -fsanitize=address -o t main.c sds.c alloc.c && ./t",
        prepare="""sdist hiredis 3.1.0 && cd hiredis-3.1.0/vendor/hiredis && cat > main.c <<'END'
#include "sds.h"
#include <stdio.h>
int main(void) { sds s = sdsnew("hello"); for (int i = 0; i < 3; i++) printf("%s\\n", s);
  sdsfree(s); return sdslen(s) == 5; }
END""",
    ),
    # Rust, Go, Java
    Failure(
        "cargo-build",
        "cd usr/share/cargo/registry/itoa-* && cargo build --offline --color never",
        prepare="deb librust-itoa-dev && cd usr/share/cargo/registry/itoa-* && cargo_alone"
        " && sed -i 's/as isize/as usize/; s/lut_ptr/lut_pointer/' src/lib.rs",
    ),
    Failure(
        "cargo-test",
        "cd usr/share/cargo/registry/semver-* && cargo test --offline --color never",
        prepare="deb librust-semver-dev && cd usr/share/cargo/registry/semver-* && cargo_alone"
        " && sed -i 's/Op::Caret => matches_caret/Op::Caret => matches_tilde/' src/eval.rs",
    ),
    Failure(
        "cargo-colour",
        "cd usr/share/cargo/registry/itoa-* && cargo build --offline --color always",
        prepare="deb librust-itoa-dev && cd usr/share/cargo/registry/itoa-* && cargo_alone"
        " && sed -i 's/buf: &mut/buffer: \\&mut/' src/lib.rs",
    ),
    Failure(
        "cargo-offline",
        "cd usr/share/cargo/registry/semver-* && cargo build --offline",
        prepare="deb librust-semver-dev && cd usr/share/cargo/registry/semver-* && cargo_alone"
        " && printf '[dependencies]\nserde = \"1.0.150\"\n' >> Cargo.toml",
    ),
    Failure(
        "go-build",
        "cd usr/share/gocode/src/github.com/spf13/pflag && go build ./... ; go vet ./...",
        prepare="deb golang-github-spf13-pflag-dev && cd usr/share/gocode/src/github.com/spf13/pflag"
        " && (test -f go.mod || go mod init github.com/spf13/pflag)"
        " && sed -i 's/f.formal\\[/f.normal[/; s/type FlagSet struct/type FlagSets struct/' flag.go",
    ),
    Failure(
        "go-test",
        "cd usr/share/gocode/src/github.com/spf13/pflag && go test -vet=off -v ./...",
        prepare="deb golang-github-spf13-pflag-dev && cd usr/share/gocode/src/github.com/spf13/pflag"
        " && (test -f go.mod || go mod init github.com/spf13/pflag)"
        " && sed -i 's/strings.TrimSpace(sval)/sval/; s/strconv.Atoi(sval)/strconv.Atoi(sval + \"0\")/' *.go"
        " && sed -i 's/strconv.ParseInt(sval, 0, 64)/strconv.ParseInt(sval, 8, 64)/' *.go",
    ),
    Failure(
        "go-panic",
        "cd usr/share/gocode/src/github.com/pkg/errors && go test ./...",
        prepare="deb golang-github-pkg-errors-dev && cd usr/share/gocode/src/github.com/pkg/errors"
        " && (test -f go.mod || go mod init github.com/pkg/errors)"
        " && sed -i 's/pcs \\[depth\\]uintptr/pcs [1]uintptr/' stack.go",
    ),
    Failure(
        "javac",
        "javac -Xlint:all -d out $(find . -name '*.java')",
        prepare="sdist pyjnius 1.6.1 && sed -i 's/ Map</ Mapp</; s/Object;/Objects;/; s/String /Strin /' $(find . -name '*.java')",
    ),
    Failure(
        "junit",
        "java -cp /usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar:. org.junit.runner.JUnitCore StackTest",
        prepare="""cat > StackTest.java <<'END'
import java.util.*;
import org.junit.*;
public class StackTest {
    private static int depth(Map<String, List<String>> of, String one) {
        return of.get(one).isEmpty() ? 0 : 1 + depth(of, of.get(one).get(0));
    }
    @Test public void depthOfUnknown() { Assert.assertEquals(0, depth(new HashMap<>(), "a")); }
    @Test public void equalLists() { Assert.assertEquals(List.of(1, 2, 3), Arrays.asList(1, 3, 2)); }
    @Test public void timesOut() { Assert.assertTrue("not in time", false); }
    @Test public void passes() { Assert.assertTrue(true); }
}
END
javac -cp /usr/share/java/junit4.jar StackTest.java""",
    ),
    Failure(
        "mvn-offline",
        "mvn -o -e package",
        prepare="""cat > pom.xml <<'END'
<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId><version>1</version>
<dependencies><dependency><groupId>com.google.guava</groupId><artifactId>guava</artifactId><version>31.1-jre</version>
</dependency></dependencies></project>
END""",
    ),
    # Python's tests and checks
    Failure(
        "pytest-werkzeug",
        "cd Werkzeug-2.0.0 && PYTHONPATH=src $BENCH/venv/bin/python -m pytest --noconftest -p no:cacheprovider tests",
        prepare="cp -r $BENCH/work/Werkzeug-2.0.0 .",
    ),
    Failure(
        "pytest-django-like",
        "cd werkzeug-* && PYTHONPATH=src $PY -m pytest -q -p no:cacheprovider tests/test_urls.py tests/test_utils.py"
        " tests/test_http.py tests/sansio",
        prepare="sdist werkzeug 3.1.3 && cd werkzeug-* && $PY -m pip install -q pytest-timeout==2.3.1 ephemeral-port-reserve==1.1.4 watchdog==6.0.0"
        ' && sed -i \'s/return ";".join/return ",".join/; s/isoformat/ctime/; s/\\.lower()/.upper()/\' src/werkzeug/http.py',
    ),
    Failure(
        "pytest-collection",
        "cd markupsafe-* && PYTHONPATH=src $PY -m pytest tests",
        prepare="sdist markupsafe 3.0.2 && cd markupsafe-* && sed -i 's/^import typing as t/import typingg as t/' src/markupsafe/__init__.py",
    ),
    Failure(
        "pytest-xdist",
        "cd packaging-* && PYTHONPATH=src $PY -m pytest -n 2 -v -p no:cacheprovider tests/test_version.py tests/test_utils.py",
        prepare="sdist packaging 24.2 && cd packaging-* && $PY -m pip install -q pretend==1.0.9"
        " && sed -i 's/_version.epoch/_version.epoch + 1/; s/name.lower()/name/' src/packaging/*.py",
    ),
    Failure(
        "unittest-django",
        "cd django-5.2.8/tests && PYTHONPATH=.. $PY runtests.py --parallel 1 utils_tests.test_text"
        " utils_tests.test_html utils_tests.test_dateparse utils_tests.test_http",
        prepare="cp -r $BENCH/work/django-5.2.8 . && cd django-5.2.8 && sed -i 's/x\\[0\\].upper/x[0].lower/; s/max_len <= 0/max_len < 9/;"
        ' s/text.replace("-", "_")/text/\' django/utils/text.py'
        " && sed -i 's/\\.groupdict()/.groups()/' django/utils/dateparse.py"
        " && sed -i 's/doseq=False/doseq=True/' django/utils/http.py",
    ),
    Failure(
        "traceback-django",
        "$PY manage.py check",
        prepare="PYTHONPATH=$BENCH/work/django-5.2.8 $PY -m django startproject shop . && echo \"import sys; sys.path.insert(0, '$BENCH/work/django-5.2.8')\" > pre.py"
        " && sed -i '1a import pre' manage.py && sed -i 's/django.contrib.messages\"/django.contrib.massages\"/;"
        " s/django.contrib.messages'/django.contrib.massages'/' shop/settings.py",
    ),
    Failure(
        "traceback-chain",
        "$PY job.py",
        prepare="""cat > job.py <<'END'
import json, logging, sys
sys.path.insert(0, '/nowhere')
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("job")
class JobFailed(Exception): pass
def load(n):
    text = json.dumps({"n": n}) if n != 387 else '{"n": }'
    return json.loads(text)
def work(n):
    try:
        return load(n)["n"]
    except ValueError as error:
        raise JobFailed(f"row {n} of orders.jsonl is unreadable") from error
for n in range(1000):
    work(n)
    log.info("row %d done in %d ms", n, n % 7)
END""",
    ),
    Failure(
        "mypy", "cd Werkzeug-2.0.0 && $PY -m mypy --strict src/werkzeug", prepare="cp -r $BENCH/work/Werkzeug-2.0.0 ."
    ),
    Failure(
        "pyright",
        "cd werkzeug-* && $PY -m pyright src/werkzeug/routing src/werkzeug/http.py",
        prepare="sdist werkzeug 3.1.3 && cd werkzeug-* && sed -i 's/-> str | None/-> int/' src/werkzeug/http.py",
    ),
    Failure(
        "ruff",
        "cd Werkzeug-2.0.0 && $TOOLS/venv/bin/ruff check --isolated --select E,F,B,UP src",
        prepare="cp -r $BENCH/work/Werkzeug-2.0.0 .",
    ),
    Failure(
        "ruff-concise",
        "cd Werkzeug-2.0.0 && $TOOLS/venv/bin/ruff check --isolated --select E,F,B,UP,ANN --output-format concise src",
        prepare="cp -r $BENCH/work/Werkzeug-2.0.0 .",
    ),
    Failure(
        "flake8", "cd Werkzeug-2.0.0 && $PY -m flake8 --isolated src", prepare="cp -r $BENCH/work/Werkzeug-2.0.0 ."
    ),
    Failure(
        "pylint",
        "cd Werkzeug-2.0.0 && $PY -m pylint --rcfile= src/werkzeug/http.py src/werkzeug/urls.py src/werkzeug/utils.py",
        prepare="cp -r $BENCH/work/Werkzeug-2.0.0 .",
    ),
    Failure(
        "black", "cd Werkzeug-2.0.0 && $PY -m black --check src tests", prepare="cp -r $BENCH/work/Werkzeug-2.0.0 ."
    ),
    Failure(
        "compileall",
        "cd Werkzeug-2.0.0 && $PY -m compileall src",
        prepare="cp -r $BENCH/work/Werkzeug-2.0.0 . && cd Werkzeug-2.0.0 && sed -i 's/^    def get(/    def get((/; s/^        else:/        else/' src/werkzeug/datastructures.py src/werkzeug/test.py",
    ),
    Failure(
        "sphinx",
        "cd werkzeug-*/docs && PYTHONPATH=../src $PY -m sphinx -W --keep-going -b html -D extensions=sphinx.ext.autodoc . out",
        prepare="sdist werkzeug 3.1.3 && cd werkzeug-*/docs && sed -i '/pallets/Id; /versionwarning/d' conf.py; rm -f utils.rst",
    ),
    Failure(
        "nox",
        "cd markupsafe-* && $PY -m nox --no-venv -s tests lint",
        prepare="""sdist markupsafe 3.0.2 && cd markupsafe-* && cat > noxfile.py <<'END'
import nox
@nox.session
def tests(session):
    session.run("python", "-m", "pytest", "-q", "tests", env={"PYTHONPATH": "src"}, external=True)
@nox.session
def lint(session):
    session.run("python", "-m", "ruff", "check", "--isolated", "--select", "ALL", "src", external=True)
END
sed -i 's/&#39;/\\&apos;/' src/markupsafe/_native.py""",
    ),
    # JavaScript and TypeScript
    Failure(
        "tsc",
        "cd rxjs && $NODE/.bin/tsc --noEmit -p src/tsconfig.base.json",
        prepare="cp -r $NODE/rxjs . && sed -i 's/closed: boolean/closed: string/; s/: void;/: never;/' rxjs/src/internal/types.ts",
    ),
    Failure(
        "tsc-pretty",
        "cd rxjs && $NODE/.bin/tsc --noEmit --pretty -p src/tsconfig.base.json",
        prepare="cp -r $NODE/rxjs . && sed -i 's/closed: boolean/closed: string/' rxjs/src/internal/types.ts",
    ),
    Failure(
        "eslint",
        "cd express && $NODE/.bin/eslint -c eslint.config.js lib",
        prepare="""cp -r $NODE/express . && cat > express/eslint.config.js <<'END'
module.exports = [{ languageOptions: { sourceType: "commonjs" },
  rules: { "no-undef": 2, "no-var": 2, "prefer-const": 1, eqeqeq: 2, "no-unused-vars": 2, curly: 1 } }];
END""",
    ),
    Failure(
        "prettier", "cd express && $NODE/.bin/prettier --check lib ../qs", prepare="cp -r $NODE/express $NODE/qs ."
    ),
    Failure(
        "node-test",
        "node --test --test-reporter=tap tests/",
        prepare="""mkdir tests node_modules && cp -r $NODE/semver node_modules && sed -i 's/NUMBER = 15/NUMBER = 3/' node_modules/semver/internal/re.js && cat > tests/range.test.js <<'END'
const { test, describe } = require("node:test"); const assert = require("node:assert"); const semver = require("semver");
describe("ranges", () => { for (const [r, v, want] of [["^1.2.3", "1.9.0", true], ["~1.2", "1.3.0", true], [">=2", "1.0.0", false],
  ["1.x", "1.4.4", true], ["*", "0.0.1", true], ["^0.0.1", "0.0.2", true]])
  test(`${v} in ${r}`, () => assert.strictEqual(semver.satisfies(v, r), want)); });
for (let i = 0; i < 60; i++) test(`version ${i}`, () => assert.ok(semver.valid(`1.${i}.0`)));
test("increments", () => assert.deepStrictEqual(semver.inc("1.2.3", "minor"), "1.3.1"));
test("reads the config", () => require("fs").readFileSync("config.json"));
END""",
    ),
    Failure("node-test-spec", "node --test --test-reporter=spec tests/", prepare="cp -r ../node-test/* ."),
    Failure(
        "tape-qs",
        "cd qs && node test/parse.js; node test/stringify.js",
        prepare="ln -s $NODE . && cp -r $NODE/qs . && cd qs && sed -i 's/1000/1/; s/depth: 5/depth: 1/' lib/parse.js && sed -i \"s/'RFC3986'/'RFC1738'/\" lib/formats.js",
    ),
    Failure(
        "mocha",
        "$NODE/.bin/mocha tests",
        prepare="""ln -s $NODE . && mkdir tests && cat > tests/lodash.js <<'END'
const assert = require("assert"); const _ = require("lodash");
describe("lodash", () => { for (let i = 0; i < 80; i++) it(`chunks ${i}`, () => assert.equal(_.chunk([...Array(i)], 3).length, Math.ceil(i / 3)));
  it("groups", () => assert.deepEqual(_.groupBy([6.1, 4.2, 6.3], Math.floor), { 4: [4.2], 6: [6.1, 6.4] }));
  it("debounces", done => { _.debounce(done, 10000)(); });
  it("takes paths", () => _.get(undefined, "a.b").length);
  it("orders", () => assert.strictEqual(_.sortBy([3, 1, 2])[0], 3)); });
END""",
    ),
    Failure(
        "jest",
        "$NODE/.bin/jest --rootDir . --verbose",
        prepare="""ln -s $NODE . && echo '{}' > package.json && cat > lodash.test.js <<'END'
const _ = require("lodash");
describe("lodash", () => { for (let i = 0; i < 80; i++) test(`chunks ${i}`, () => expect(_.chunk([...Array(i)], 3).length).toBe(Math.ceil(i / 3)));
  test("groups", () => expect(_.groupBy([6.1, 4.2, 6.3], Math.floor)).toEqual({ 4: [4.2], 6: [6.1, 6.4] }));
  test("takes paths", () => _.get(undefined, "a.b").length);
  test("orders", () => expect(_.sortBy([3, 1, 2])[0]).toBe(3));
  test("merges", () => expect(_.merge({ a: 1 }, { b: { c: 2 } })).toMatchObject({ b: { c: 3 } })); });
END
cat > server.test.js <<'END'
const express = require("express"); const missing = require("supertest");
test("serves", () => expect(express()).toBeDefined());
END""",
    ),
    Failure(
        "vitest",
        "$NODE/.bin/vitest run --root .",
        prepare="""ln -s $NODE . && echo '{}' > package.json && cat > lodash.test.js <<'END'
import _ from "lodash"; import { describe, expect, test } from "vitest";
describe("lodash", () => { for (let i = 0; i < 80; i++) test(`chunks ${i}`, () => expect(_.chunk([...Array(i)], 3).length).toBe(Math.ceil(i / 3)));
  test("groups", () => expect(_.groupBy([6.1, 4.2, 6.3], Math.floor)).toEqual({ 4: [4.2], 6: [6.1, 6.4] }));
  test("takes paths", () => _.get(undefined, "a.b").length);
  test("orders", () => expect(_.sortBy([3, 1, 2])[0]).toBe(3)); });
END
cat > missing.test.js <<'END'
import { thing } from "./not-there.js"; import { test } from "vitest"; test("x", () => thing());
END""",
    ),
    Failure(
        "webpack",
        "$NODE/.bin/webpack --mode production",
        prepare="""ln -s $NODE . && mkdir src && echo "import chunk from 'lodash/chunk'; import axios from 'axios'; import './style.css';
import { of } from 'rxjs'; import express from 'express'; console.log(chunk, axios, of, express, process.env.X)" > src/index.js && echo 'body { color: red }' > src/style.css""",
    ),
    Failure(
        "esbuild",
        "$NODE/.bin/esbuild --bundle src/index.js --outfile=out.js",
        prepare="cp -r ../webpack/src . && ln -s $NODE .",
    ),
    Failure(
        "node-crash",
        "node server.js",
        prepare="""ln -s $NODE . && cat > server.js <<'END'
const express = require("express"); const app = express();
for (let i = 0; i < 200; i++) { app.get(`/r${i}`, (q, r) => r.send("x")); console.log(`route /r${i} is mounted, ${i} ms`); }
app.use("/static", express.static(undefined));
END""",
    ),
    # other tools
    Failure(
        "bash-e",
        "bash -ex deploy.sh",
        prepare="""cat > deploy.sh <<'END'
for n in $(seq 1 80); do echo "copying part $n" > part$n; done
cat part* | sort > all
tar czf release.tgz all
cp release.tgz /srv/releases/current/
echo deployed
END""",
    ),
    Failure("apt", "apt-get install -s -y python3-nothing-of-that libssl1.0.0 postgresql-server-dev-42"),
    Failure(
        "prove",
        "prove -v t",
        prepare="""mkdir t && cat > t/list.t <<'END'
use Test::More; use List::Util qw(sum max first);
is(sum(1 .. $_), $_ * ($_ + 1) / 2, "sum to $_") for 1 .. 90;
is(max(3, 9, 4), 4, "largest of three");
is_deeply([sort 10, 9, 8], [8, 9, 10], "sorted as numbers");
cmp_ok(first(sub { $_ > 2 }, 1 .. 5), "==", 3, "first above two");
done_testing;
END""",
    ),
    Failure(
        "rspec",
        "rspec --format documentation spec",
        prepare="""mkdir spec && cat > spec/set_spec.rb <<'END'
require "set"
describe Set do
  (1..70).each { |n| it("holds #{n}") { expect(Set.new(1..n).size).to eq n } }
  it("keeps order") { expect(Set[3, 1, 2].to_a).to eq [1, 2, 3] }
  it("subtracts") { expect((Set[1, 2] - [2]).fetch(0)).to eq 1 }
  it("is frozen") { expect(Set[1]).to be_frozen }
end
END""",
    ),
    Failure(
        "segfault",
        "$PY -X faulthandler crash.py",
        prepare="""cat > crash.py <<'END'
import ctypes, sqlite3
for n in range(150): print("step", n, "of 200 is done")
def read(address): return ctypes.string_at(address)
read(8)
END""",
    ),
    Failure(
        "stylelint",
        "$NODE/.bin/stylelint --config rules.json 'css/**/*.css'",
        prepare="""cp -r $BENCH/work/django-5.2.8/django/contrib/admin/static/admin/css . && echo '{"rules": {"block-no-empty": true,
"color-no-invalid-hex": true, "declaration-no-important": true, "selector-max-id": 0, "color-named": "never"}}' > rules.json""",
    ),
]

PYTEST = r"^(?:FAILED|ERROR) [^:\s]+::(?:\w+::)?(\w+)"

EXPECTED: dict[str, tuple[tuple[str, ...], str]] = {
    "pip-greenlet": (("greenlet.c:160.*no member named .exc_type",), r"member named (‘\w+’)"),
    "pip-python-ldap": (("lber.h: No such file",), ""),
    "pip-pycrypto": (("longintrepr.h: No such file",), ""),
    "pip-mysqlclient": (("Can not find valid pkg-config name",), ""),
    "pip-pygraphviz": (("graphviz/cgraph.h: No such file",), ""),
    "pip-pyyaml": (("no attribute 'cython_sources'",), ""),
    "pip-suds": (("CalledProcessError: Command .*curl",), ""),
    "pip-typed-ast": (("unknown type name .PyArena",), ""),
    "pip-pyodbc": (("sql.h: No such file",), ""),
    "pip-contourpy": (("Unknown compiler.*c\\+\\+-14",), ""),
    "pip-rpds": (("no matching package named .pyo3",), ""),
    "pip-conflict": (("Cannot install botocore==1.29.0 and urllib3==2.0.7", "depends on urllib3<1.27"), ""),
    "pip-no-version": (("No matching distribution found for numpy==99.1",), ""),
    "uv-conflict": (("botocore==1.29.0 depends on urllib3", "urllib3==2.0.7"), ""),
    "npm-eresolve": (("ERESOLVE", "peer react@.*from @material-ui/core"), ""),
    "npm-ci": (("Missing: lodash@4.17.20 from lock file", "webpack@5.97.1 does not satisfy"), ""),
    "npm-404": (("404 Not Found.*left-padd-of-bursar",), ""),
    "make-hiredis": (("has no member named .obuf",), ""),
    "ld-hiredis": (("undefined reference to .redisAsyncRead",), r"undefined reference to `(\w+)"),
    "ld-no-library": (("cannot find -lhiredis_ssl",), ""),
    "g++-pybind11": (("bound.cc:.*error: ",), ""),
    "cmake-find": (("configuration file provided by .GTest", "CMakeLists.txt:5"), ""),
    "cmake-build": (("no member named .ringbuffer_size",), ""),
    "asan": (("heap-use-after-free", r"main.c:\d|sds.h:\d"), ""),
    "cargo-build": (("E0308", "src/lib.rs:148"), r"^error\[(E\d+)\]"),
    "cargo-test": (("test_version_req.rs:40",), r"^test (\w+) \.\.\. FAILED"),
    "cargo-colour": (("cannot find value `buf`", "src/lib.rs:133"), ""),
    "cargo-offline": (("no matching package named `serde`",), ""),
    "go-build": (("flag.go:165:28: undefined: FlagSet",), ""),
    "go-test": ((r"_test.go:\d+: ",), r"--- FAIL: (\w+)"),
    "go-panic": (("wantLines", "index out of range"), r"--- FAIL: (\w+)"),
    "javac": (("cannot find symbol",), ""),
    "junit": (("not in time", "java.util.List.isEmpty", "expected:<.1, 2, 3.>"), r"^\d+\) (\w+)"),
    "mvn-offline": (("maven-resources-plugin:2.6", "offline"), ""),
    "pytest-werkzeug": (("28 failed, 751 passed", "fixture 'standard_app' not found", "DeprecationWarning"), PYTEST),
    "pytest-django-like": (("55 failed, 172 passed", "assert .'en-us', 'ru; Q=0.5'"), PYTEST),
    "pytest-collection": (("No module named 'typingg'",), ""),
    "pytest-xdist": (("248 failed",), PYTEST),
    "unittest-django": (("Invalid isoformat string: '2012-4-9'",), r"^(?:FAIL|ERROR): (\w+)"),
    "traceback-django": (("No module named 'django.contrib.massages'",), ""),
    "traceback-chain": (("row 387 of orders.jsonl is unreadable", "JSONDecodeError"), ""),
    "mypy": (("Found 168 errors in 32 files",), r"\[([a-z]+(?:-[a-z]+)+)\]$"),
    "pyright": (("7 errors", r"exceptions.py:46"), r"\((report\w+)\)$"),
    "ruff": (("743",), r":\d+:\d+: ([A-Z]+\d+)"),
    "ruff-concise": (("1,?628",), r":\d+:\d+: ([A-Z]+\d+)"),
    "flake8": ((r"__init__.py:1:1: F401",), r":\d+:\d+: ([A-Z]+\d+)"),
    "pylint": (("werkzeug/http.py",), r":\d+:\d+: ([A-Z]\d+):"),
    "black": (("23 files would be reformatted",), ""),
    "compileall": (("SyntaxError: expected ':'",), ""),
    "sphinx": (("name 'get_version' is not defined",), ""),
    "nox": (("tests: failed", "lint: failed", "assert Markup"), PYTEST),
    "tsc": (("Observable.ts.74,3.: error TS2416",), r"error (TS\d+)"),
    "tsc-pretty": (("TS2416|TS\\d+",), r"(TS\d+)"),
    "eslint": (("412 problems",), r"(?:error|warning) .*  ([\w-]+)$"),
    "prettier": (("Invalid tabWidth|lib/application.js",), ""),
    "node-test": (("ENOENT.*config.json", "1.3.1"), r"^ *not ok \d+ - (.*)"),
    "node-test-spec": (("ENOENT.*config.json", "1.3.1"), r"^ *✖ ([^(\n]*) \("),
    "tape-qs": (("Cannot find module 'has-override-mistake'",), ""),
    "mocha": (("4 failing", "Timeout of 2000ms", "Cannot read properties of undefined"), r"^    \d\) (.*)"),
    "jest": (
        ("4 failed", "Cannot find module 'supertest'", "Cannot read properties of undefined"),
        r"● lodash › (\w+)",
    ),
    "vitest": (("Failed to load url ./not-there.js", "Cannot read properties of undefined"), r"× (.*) \d+ms"),
    "webpack": (("33 errors", "Can't resolve 'axios'"), ""),
    "esbuild": (('Could not resolve "axios"',), ""),
    "node-crash": (("TypeError: root path required", "server.js:3"), ""),
    "bash-e": (("/srv/releases/current/.*No such file",), ""),
    "apt": (("Unable to locate package python3-nothing-of-that", "libssl1.0.0"), ""),
    "prove": (("Failed: 2|2 tests of 93",), r"^not ok \d+ - (.*)"),
    "rspec": (("3 failures", "fetch|NoMethodError"), r"\d\) Set (.*)"),
    "segfault": (("Segmentation fault", 'crash.py"?, line 3'), ""),
    "stylelint": (("261 problems",), r"✖ .*  ([\w-]+)$"),
}
"""Of each output what a first look has to show: patterns of the cause; and one whose group finds every name in the log."""

# Sourced by ./meshwright and scripts/*: makes .venv from requirements.lock and finds Java.

say() { printf '%s\n' "$*" >&2; }

trap 'say "error: interrupted."; exit 130' INT

find_python() {
  for candidate in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
    then
      command -v "$candidate"
      return
    fi
  done
  say "error: Python 3.11 or later with venv is needed (Debian, Ubuntu: apt-get install python3-venv)."
  exit 2
}

# ensure_environment ROOT: rebuild .venv when requirements.lock has changed; one builder at a time.
ensure_environment() {
  root=$1
  stamp="$root/.venv/lock.sha256"
  want=$(lock_hash "$root")
  [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && return
  waited=0
  until mkdir "$root/.venv.lock" 2>/dev/null; do
    # The builder may have been killed: its process id tells, or that it never wrote one.
    builder=$(cat "$root/.venv.lock/pid" 2>/dev/null || true)
    if { [ -n "$builder" ] && ! kill -0 "$builder" 2>/dev/null; } ||
      { [ -z "$builder" ] && [ "$waited" -ge 5 ]; }; then
      rm -rf "$root/.venv.lock"
      continue
    fi
    [ "$waited" -eq 0 ] && say "Waiting for another run to make the environment..."
    waited=$((waited + 1))
    sleep 1
  done
  echo $$ >"$root/.venv.lock/pid"
  trap 'rm -rf "$root/.venv.lock"' EXIT
  trap 'exit 143' TERM
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then build_environment; fi
  rm -rf "$root/.venv.lock"
  trap - EXIT TERM
}

build_environment() {
  python=$(find_python) || exit 2
  say "Making the environment in .venv (once; downloads about 600 MB)..."
  rm -rf "$root/.venv"
  "$python" -m venv "$root/.venv"
  if ! "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --require-hashes -r "$root/requirements.lock" 1>&2; then
    say "error: the packages of requirements.lock cannot be installed (see above); check the network and pip's settings, then run this again."
    exit 3
  fi
  # A .pth file instead of an install: every process of this interpreter, Spark's workers
  # included, finds the sources as they are.
  site=$("$root/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf '%s\n' "$root/src" >"$site/meshwright.pth"
  printf '%s\n' "$want" >"$stamp"
}

# The lock and the place: a moved clone needs a new environment too.
lock_hash() {
  { cat "$1/requirements.lock"; printf '%s' "$1"; } | cksum
}

# java_version JAVA: its main version, from the file beside it if there is one: a JVM takes longer.
java_version() {
  place=$(readlink -f -- "$1" 2>/dev/null || printf '%s' "$1")
  release=$(dirname -- "$(dirname -- "$place")")/release
  if [ -x "$1" ] && [ -f "$release" ]; then
    found=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$release" | head -n 1)
    [ -n "$found" ] && printf '%s\n' "$found" && return
  fi
  "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

# ensure_java: JAVA_HOME, then the path, then apt where that may be done.
ensure_java() {
  java=${JAVA_HOME:+$JAVA_HOME/bin/java}
  [ -n "$java" ] || java=$(command -v java || true)
  if [ -n "$java" ]; then
    version=$(java_version "$java")
    [ -n "$version" ] && [ "$version" -ge 17 ] && return
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "Installing Java (openjdk, headless) with apt..."
    if { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends default-jre-headless; } >/dev/null 2>&1; then
      unset JAVA_HOME
      return
    fi
  fi
  say "error: Spark needs Java 17 or later: install it (Debian, Ubuntu: apt-get install default-jre-headless; macOS: brew install openjdk) or set JAVA_HOME."
  exit 3
}

# ensure_mosquitto: tests of real logs and brokers need it; without it they skip, and CI fails.
ensure_mosquitto() {
  PATH="$PATH:/usr/sbin:/usr/local/sbin"
  export PATH
  command -v mosquitto >/dev/null 2>&1 && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "Installing mosquitto with apt..."
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends mosquitto mosquitto-clients; } >/dev/null 2>&1 && return
  fi
  say "mosquitto is not here and cannot be installed: the tests that need a broker will skip."
}

# ensure_systemd: a test has systemd look at our units. Nobody else gets another init system for a
# test: it is installed in CI only, and elsewhere the test skips.
ensure_systemd() {
  command -v systemd-analyze >/dev/null 2>&1 && return
  if [ -n "${CI:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "Installing systemd with apt, for systemd-analyze..."
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends systemd; } >/dev/null 2>&1 && return
  fi
  say "systemd-analyze is not here: the test of the units will skip."
}

# ensure_rabbitmq: tests of the mesh with other brokers run a node of their own; the service that the
# package brings is not started.
ensure_rabbitmq() {
  [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] && return
  command -v rabbitmq-server >/dev/null 2>&1 && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "Installing rabbitmq-server with apt..."
    policy=/usr/sbin/policy-rc.d
    own=
    if [ ! -e "$policy" ]; then
      own=yes
      printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy"
    fi
    installed=
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends rabbitmq-server; } >/dev/null 2>&1 && installed=yes
    [ -z "$own" ] || rm -f "$policy"
    [ -n "$installed" ] && return
  fi
  say "rabbitmq-server is not here and cannot be installed: the tests that need it will skip."
}

# ensure_prometheus: a test has it scrape a mesh. The package is unpacked in .venv/cache and not
# installed, which would start a service.
ensure_prometheus() {
  unpacked="$1/.venv/cache/prometheus"
  PATH="$PATH:$unpacked/usr/bin"
  export PATH
  command -v prometheus >/dev/null 2>&1 && return
  if command -v apt-get >/dev/null 2>&1; then
    say "Getting prometheus with apt..."
    if [ "$(id -u)" = 0 ]; then apt-get update -qq >/dev/null 2>&1 || true; fi
    mkdir -p "$unpacked"
    (cd "$unpacked" && apt-get download prometheus && dpkg -x prometheus_*.deb . &&
      rm -f prometheus_*.deb) >/dev/null 2>&1 && return
  fi
  say "prometheus is not here and cannot be had: the test that needs it will skip."
}

# ensure_chromium: tests of the report open it in a real browser; without one they skip.
ensure_chromium() {
  for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null 2>&1 && return
  done
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "Installing chromium with apt..."
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
      --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 && return
  fi
  say "chromium is not here and cannot be installed: the tests that need a browser will skip."
}

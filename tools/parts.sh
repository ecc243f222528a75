#!/bin/sh
# What the tests need beyond Python: Java, for Spark, Chromium, for the console, PostgreSQL's own client and JDBC
# driver, for the endpoint, and nginx, for the service behind it. Installed by the system's package manager where we may; where we may not, the tests that need
# them are skipped with a line that says so (under CI they fail instead).
set -u

have() { command -v "$1" >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif have sudo && sudo -n true 2>/dev/null; then sudo -n "$@"
    else return 1
    fi
}

LOCK=300  # seconds to wait for another run of the package manager

apt() {  # its timeout covers installing; the lists have a lock of their own. At "runlevel 1" no daemon is started
    for left in $(seq "$((LOCK / 5))" -1 0); do
        said=$(as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C RUNLEVEL=1 \
            apt-get -qq -o "DPkg::Lock::Timeout=$LOCK" "$@" 2>&1 >/dev/null) && return 0
        case "$said" in *"Could not get lock"* | *"Unable to lock"*) ;; *) break ;; esac
        [ "$left" = 0 ] || sleep 5
    done
    printf '%s\n' "$said" >&2
    return 1
}

install() {  # the package's name for apt, for dnf, for apk
    if have apt-get; then apt update && apt install -y --no-install-recommends "$1"
    elif have dnf; then as_root dnf -q -y install "$2"
    elif have apk; then as_root apk --wait "$LOCK" add -q "$3"
    else return 1
    fi
}

recent_java() {  # Spark needs 17; "1.8" and "11" are too old
    java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p') && [ "${version:-0}" -ge 17 ]
}

a_driver() { [ -e /usr/share/java/postgresql.jar ] || [ -e /usr/share/java/postgresql-jdbc/postgresql.jar ] || [ -n "${POSTGRES_JDBC:-}" ]; }

a_browser() { have chromium || have chromium-browser || have google-chrome; }

recent_java || install default-jre-headless java-17-openjdk-headless openjdk17-jre-headless ||
    echo "Java is not installed and could not be: the Spark tests need a headless JRE (17 or later)."
a_browser || install chromium chromium chromium ||
    echo "Chromium is not installed and could not be: the tests of the console need it."
have psql || install postgresql-client postgresql postgresql-client ||
    echo "psql is not installed and could not be: the tests of PostgreSQL's protocol need it."
have nginx || [ -x /usr/sbin/nginx ] || install nginx-light nginx nginx ||
    echo "nginx is not installed and could not be: the test of the service behind it needs it."
a_driver || install libpostgresql-jdbc-java postgresql-jdbc java-postgresql-jdbc ||
    echo "PostgreSQL's JDBC driver is not installed and could not be: the tests of PostgreSQL's protocol need it."

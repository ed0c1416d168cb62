# To be sourced on the machine with the GPU, in every new shell: the environment for what `unpack` unpacked.
#   JAVA_HOME, PATH   the Java runtime
#   JAVA_OPTS         what the root POM passes to the JVMs of tests
#   KCP               class path of gpu-kernels and arrow-bridge, with their tests
#   CP                class path of all modules, with their tests; only if libs were unpacked
#   gpu_it, python_it run tests, see below
# python_it [PYTEST_ARGUMENT...]: runs the Python package's tests with backend=gpu, if libs and python were unpacked.
python_it() (
  cd "$tilespark_root/python" || exit
  jar=$(ls "$tilespark_root"/spark-ext/target/tilespark-*.jar | grep -v -- '-tests\.jar$')
  TILESPARK_JAR=$jar PYTHONPATH=src:$tilespark_home/python TILESPARK_TEST_BACKEND=gpu \
    python3 -m pytest "$@"
)

# examples/run works too, if libs were unpacked.
tilespark_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tilespark_home=${TILESPARK_HOME:-/opt/tilespark}
export JAVA_HOME=$tilespark_home/jre17
export PATH=$JAVA_HOME/bin:$PATH
JAVA_OPTS=$(sed -n '/<spark.jvm.options>/,/<\/spark.jvm.options>/p' "$tilespark_root/pom.xml" | sed 's/<[^>]*>//g' | tr -s ' \n' ' ')

tilespark_classes() {
  local module
  for module; do printf '%s:' "$tilespark_root/$module/target/classes" "$tilespark_root/$module/target/test-classes"; done
}
# Never base's jars together with Spark's: they have another Netty.
KCP="$(tilespark_classes gpu-kernels arrow-bridge)$tilespark_home/base-jars/*"
CP="$(tilespark_classes gpu-kernels arrow-bridge spark-ext examples dev/benchmarks)$tilespark_home/jars/*:$tilespark_home/test-jars/*:$tilespark_root/examples/target/dependency/*"
export JAVA_OPTS KCP CP
# For dev/bench: all modules where libs were unpacked, else those that know no Spark.
TILESPARK_CLASSPATH=$CP
[[ -d $tilespark_home/jars ]] || TILESPARK_CLASSPATH=$KCP:$(tilespark_classes dev/benchmarks)
export TILESPARK_CLASSPATH

# gpu_it MODULE [CLASSES [OPTION...]]: runs the module's tests with a class name that matches the regular expression
# CLASSES (default: .*IT), in the module's folder as Maven does. OPTIONs go to JUnit's console; tests with the tag "full"
# run only if one of them names a tag. $HEAP is the heap's size (default: 24g).
gpu_it() (
  module=${1:?gpu_it MODULE [CLASSES [OPTION...]]}
  classes=${2:-.*IT}
  shift $(($# < 2 ? $# : 2))
  path=$CP
  [[ $module != gpu-kernels && $module != arrow-bridge ]] || path=$KCP
  cd "$tilespark_root/$module" || exit
  mkdir -p target/tmp
  [[ $* == *-tag* ]] || set -- --exclude-tag full "$@"
  # shellcheck disable=SC2086
  java -ea $JAVA_OPTS -Xmx"${HEAP:-24g}" -Djava.io.tmpdir="$PWD/target/tmp" \
    -cp "$(echo "$tilespark_home"/junit-platform-console-standalone-*.jar):$path" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --fail-if-no-tests \
    --exclude-tag jazzer --scan-classpath "$PWD/target/test-classes" --include-classname "$classes" --details=tree "$@"
)

# For examples/run: Spark's jars, and that nothing is to be built, whatever the times of the copied sources.
if [[ -d $tilespark_home/jars && -d $tilespark_root/examples/target ]]; then
  for jar in "$tilespark_home"/jars/*.jar; do echo "$jar"; done | paste -sd: >"$tilespark_root/examples/target/spark-jars.txt"
  touch "$tilespark_root/examples/target/built"
  unset jar
fi
# No `[[ ]] || cat`: bash 5 would let cat replace a subshell that sources this.
if [[ -f $tilespark_home/COMMIT ]]; then cat "$tilespark_home/COMMIT"; fi

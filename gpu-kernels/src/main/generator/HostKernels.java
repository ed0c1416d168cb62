import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Writes those kernels for the CPU that several types need, so that git has each of them once.
 * Maven runs it before javac; a file whose text stays the same keeps its time.
 *
 * <pre>java HostKernels.java src/main target/generated-sources/host-kernels</pre>
 *
 * <p>Products: each class {@code Float*} of the package host gets a twin {@code Double*}, unless
 * git has one.
 *
 * <p>Transforms: {@code FourierArithmetic.template} becomes four classes, for floats and doubles,
 * on vectors and one number at a time. They do the same operations in the same order, so that their
 * results have the same bits. The template is Java for floats with two more statements:
 *
 * <pre>
 * let NAME = EXPRESSION     declares a vector, or one number
 * set PLACE = EXPRESSION    assigns to a variable, or stores from ARRAY[INDEX] on
 * </pre>
 *
 * <p>An expression has {@code + - *}, {@code fma(a, b, c)} for a b + c, {@code ARRAY[INDEX]} for
 * the numbers from an index on and <code>{NUMBER}</code> for one number in all lanes. {@code a~} is
 * a complex number with the parts {@code ar} and {@code ai}: a statement with it becomes one for
 * each part, or what {@link Lanes#COMPLEX} says. Lines that begin with VECTOR or SCALAR go to two
 * of the classes only.
 */
final class HostKernels {
  private HostKernels() {}

  public static void main(String[] args) throws IOException {
    Path main = Path.of(args[0]);
    Path target = Path.of(args[1]);
    Path host = Path.of("org/tilespark/kernels/host");
    Map<Path, String> files = new HashMap<>();
    Path sources = main.resolve("java").resolve(host);
    try (DirectoryStream<Path> floats = Files.newDirectoryStream(sources, "Float*.java")) {
      for (Path each : floats) {
        String name = doubles(each.getFileName().toString());
        if (!Files.exists(sources.resolve(name))) {
          files.put(target.resolve(host).resolve(name), doubles(Files.readString(each)));
        }
      }
    }
    String template = arithmetic(main.resolve("generator/FourierArithmetic.template"));
    for (Lanes lanes : Lanes.values()) {
      String text = lanes.translated(template);
      Path fourier = target.resolve(host).resolve("fourier");
      String name = lanes.kind + "Arithmetic.java";
      files.put(fourier.resolve("Float" + name), text);
      files.put(fourier.resolve("Double" + name), doubles(text));
    }
    write(target, files);
  }

  /** The twin for doubles of a class for floats. */
  private static String doubles(String floats) {
    return floats.replace("float", "double").replace("Float", "Double").replace("(double) ", "");
  }

  /** Leaves these files in the folder, and no others. */
  private static void write(Path folder, Map<Path, String> files) throws IOException {
    for (Map.Entry<Path, String> file : files.entrySet()) {
      String mark = "@javax.annotation.processing.Generated(\"HostKernels\")\n";
      String text =
          file.getValue()
              .replaceFirst("(?m)^(?=(abstract |final )class )", mark)
              .replaceAll("(?m)^(?=.{101})( *)(.*?) = ", "$1$2 =\n$1    "); // long lines
      Path path = file.getKey();
      Files.createDirectories(path.getParent());
      if (!Files.exists(path) || !Files.readString(path).equals(text)) {
        Files.writeString(path, text);
      }
    }
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : all.filter(Files::isRegularFile).toList()) {
        if (!files.containsKey(path)) {
          Files.delete(path);
        }
      }
    }
  }

  /** How the template becomes Java. */
  private enum Lanes {
    VECTOR("Vector", "FloatVector"),
    SCALAR("Scalar", "float");

    private static final Pattern PARTS = Pattern.compile("(?m)^ *(let|set) .*~.*$");
    private static final Pattern STATEMENT =
        Pattern.compile("(?m)^( *|.*final )(let|set) (.+?) = (.+)$");
    private static final Pattern STORE = Pattern.compile("(\\w+)\\[(.+)\\]");

    /** Lines on complex numbers that mix both parts, and what they become. */
    private static final Map<String, String> COMPLEX =
        Map.of(
            "parts (\\w)",
            "float[] $2r = $2.re();\n$1float[] $2i = $2.im();",
            // a factor: its parts, and minus the imaginary one
            "let (\\w+)~ = w\\[(.+)\\]",
            "let $2r = {w[$3]}\n$1let $2i = {w[$3 + 1]}\n$1let $2m = {-w[$3 + 1]}",
            "set y~\\[(.+)\\] = (\\w+)~ \\* (\\w+)~",
            "set yr[$2] = fma($3r, $4r, $3i * $4m)\n$1set yi[$2] = fma($3r, $4i, $3i * $4r)",
            "let (\\w+)~ = (\\w+)~ \\+ i (\\w+)~",
            "let $2r = $3r - $4i\n$1let $2i = $3i + $4r",
            "let (\\w+)~ = (\\w+)~ - i (\\w+)~",
            "let $2r = $3r + $4i\n$1let $2i = $3i - $4r");

    final String kind;
    private final String type;

    Lanes(String kind, String type) {
      this.kind = kind;
      this.type = type;
    }

    String translated(String template) {
      String text = template.replaceAll("(?m)^" + this + " ", "").replace("KIND", kind);
      text = text.replaceAll("(?m)^(VECTOR|SCALAR) .*\n", "");
      for (Map.Entry<String, String> rule : COMPLEX.entrySet()) {
        text = text.replaceAll("(?m)^( *)" + rule.getKey() + "$", "$1" + rule.getValue());
      }
      text = PARTS.matcher(text).replaceAll(line -> parts(line.group()));
      return STATEMENT
          .matcher(text)
          .replaceAll(m -> m.group(1) + statement(m.group(2), m.group(3), m.group(4)));
    }

    private String statement(String verb, String place, String expression) {
      String value = new Expression(this, expression).translated();
      if (verb.equals("let")) {
        return type + " " + place + " = " + value + ";";
      }
      Matcher store = STORE.matcher(place);
      return this == VECTOR && store.matches()
          ? value + ".intoArray(" + store.group(1) + ", " + store.group(2) + ");"
          : place + " = " + value + ";";
    }

    private static String parts(String line) {
      return line.replace('~', 'r') + "\n" + line.replace('~', 'i');
    }
  }

  /** Reads an expression of the template by recursive descent, and writes it in Java. */
  private static final class Expression {
    private final boolean onVectors;
    private String rest;

    Expression(Lanes lanes, String text) {
      this.onVectors = lanes == Lanes.VECTOR;
      this.rest = text;
    }

    String translated() {
      String value = sum();
      if (!rest.isEmpty()) {
        throw new IllegalArgumentException("Cannot read the expression from \"" + rest + "\" on");
      }
      return value;
    }

    private String sum() {
      String value = product();
      while (true) {
        if (skips(" + ")) {
          value = operation(value, "+", "add", product());
        } else if (skips(" - ")) {
          value = operation(value, "-", "sub", product());
        } else {
          return value;
        }
      }
    }

    private String product() {
      String value = operand();
      while (skips(" * ")) {
        value = operation(value, "*", "mul", operand());
      }
      return value;
    }

    private String operand() {
      if (skips("-")) {
        return onVectors ? operand() + ".neg()" : "-" + operand();
      } else if (skips("(")) {
        String value = sum();
        return onVectors ? value + upTo(")") : "(" + value + upTo(")") + ")";
      } else if (skips("fma(")) {
        String a = sum() + upTo(", ");
        String b = sum() + upTo(", ");
        String c = sum() + upTo(")");
        return onVectors
            ? a + ".fma(" + b + ", " + c + ")"
            : "Fma.of(" + a + ", " + b + ", " + c + ")";
      } else if (skips("{")) {
        String number = upTo("}");
        return onVectors ? "FloatVector.broadcast(SPECIES, " + number + ")" : number;
      }
      String name = rest.replaceFirst("\\W.*", "");
      rest = rest.substring(name.length());
      if (!skips("[")) {
        return name;
      }
      String index = upTo("]");
      return onVectors
          ? "FloatVector.fromArray(SPECIES, " + name + ", " + index + ")"
          : name + "[" + index + "]";
    }

    private String operation(String a, String sign, String method, String b) {
      return onVectors ? a + "." + method + "(" + b + ")" : a + " " + sign + " " + b;
    }

    private boolean skips(String start) {
      boolean found = rest.startsWith(start);
      rest = found ? rest.substring(start.length()) : rest;
      return found;
    }

    private String upTo(String end) {
      String text = rest.substring(0, rest.indexOf(end));
      rest = rest.substring(text.length() + end.length());
      return text;
    }
  }

  /** Reads the template, and puts its parts together. */
  private static String arithmetic(Path template) throws IOException {
    // Each begins with its name: the class, a pass, pairs of rows, the butterfly of each radix.
    String[] parts = Files.readString(template).replace("\r", "").split("(?m)^--- ");
    StringBuilder passes = new StringBuilder();
    for (int k = 3; k < parts.length; k++) {
      int radix = Integer.parseInt(parts[k].lines().findFirst().get());
      passes.append(radixPass(afterFirstLine(parts[1]), radix, afterFirstLine(parts[k])));
    }
    String pairs = afterFirstLine(parts[2]);
    String to = pairs.replace("COS", "w0r").replace("MINUS", "w0n");
    String from = pairs.replace("COS", "w0n").replace("MINUS", "w0r");
    String text = parts[0].replace("PASSES\n", passes);
    return with(with(text, "TO_HALF_PAIRS", to), "FROM_HALF_PAIRS", from);
  }

  private static String afterFirstLine(String text) {
    return text.substring(text.indexOf('\n') + 1);
  }

  private static String radixPass(String template, int radix, String butterfly) {
    StringBuilder loaded = new StringBuilder();
    StringBuilder scaled = new StringBuilder();
    StringBuilder multiplied = new StringBuilder();
    for (int j = 0; j < radix; j++) {
      String d = j == 0 ? "" : j == 1 ? " + d" : " + " + j + " * d";
      String e = d.replace('d', 'e');
      loaded.append("let x%d~ = x~[a%s]\n".formatted(j, d));
      scaled.append("set y~[o%s] = u%d~ * c\n".formatted(e, j));
      if (j > 0) {
        String v = j == 1 ? "v" : "v + " + 2 * (j - 1);
        multiplied.append("let w%d~ = w[%s]\nset y~[o%s] = u%d~ * w%d~\n".formatted(j, v, e, j, j));
      }
    }
    String pass = with(template, "LOADED", loaded.toString());
    pass = with(pass, "BUTTERFLY", butterfly);
    pass = with(pass, "SCALED", scaled.toString());
    pass = with(pass, "MULTIPLIED", multiplied.toString());
    return pass.replace("RADIX", String.valueOf(radix));
  }

  /** Puts lines in the place of a name, with its indentation. */
  private static String with(String template, String name, String lines) {
    int at = template.indexOf(name);
    String indent = " ".repeat(at - template.lastIndexOf('\n', at) - 1);
    return template.replace(name, lines.strip().replace("\n", "\n" + indent));
  }
}

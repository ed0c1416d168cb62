package org.tilespark.spark.source.npy;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.Shape;
import org.tilespark.spark.numpy.NpyType;

class NpyHeaderTest {
  private static NpyHeader parse(String dict) {
    return NpyHeader.parse(NpyFixture.header(dict, 1));
  }

  private static String refusal(String dict) {
    return assertThrows(IllegalArgumentException.class, () -> parse(dict)).getMessage();
  }

  @Test
  void encodesWhatNumpyWrites() {
    // Taken from numpy 2.4: np.save of np.zeros((10000, 784), 'u1').
    String numpy =
        "NUMPY\1\0v\0{'descr': '|u1', 'fortran_order': False, 'shape': (10000, 784), }"
            + " ".repeat(16 + 34)
            + "\n";
    byte[] header = NpyHeader.forWriting(NpyType.UINT8, Shape.of(10000, 784)).encode();
    assertEquals((byte) 0x93, header[0]);
    assertEquals(128, header.length);
    assertEquals(
        numpy.stripTrailing(),
        new String(header, 1, 127, StandardCharsets.ISO_8859_1).stripTrailing());
  }

  @Test
  void encodingIsTheFixtures() {
    Random random = new Random(7);
    for (NpyType type : NpyType.values()) {
      long[] shape = {random.nextLong(1L << 40), random.nextLong(1000), 3};
      String dict =
          "{'descr': '"
              + type.descr()
              + "', 'fortran_order': False, 'shape': "
              + NpyFixture.tuple(shape)
              + ", }";
      dict += " ".repeat(21 - Long.toString(shape[0]).length());
      NpyHeader header = NpyHeader.forWriting(type, Shape.of(shape));
      assertArrayEquals(NpyFixture.header(dict, 1), header.encode());
      assertEquals(header, NpyHeader.parse(header.encode()));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }",
        "{'shape':(3,5),'descr':\"<f4\",'fortran_order':False}",
        "  { 'shape' : ( 3L , 5L, ) ,\t'fortran_order' : False , 'descr' : '=f4' , } \n",
      })
  void takesWhatNumpyHasEverWritten(String dict) {
    NpyHeader header = parse(dict);
    assertEquals(NpyType.FLOAT32, header.type());
    assertEquals(Shape.of(3, 5), header.shape());
    assertEquals(60, header.dataBytes());
  }

  @Test
  void readsByteOrderAndFortranOrder() {
    NpyHeader header = parse("{'descr': '>c16', 'fortran_order': True, 'shape': (5,), }");
    assertEquals(NpyType.COMPLEX128, header.type());
    assertTrue(header.bigEndian());
    assertTrue(header.fortranOrder());
    assertEquals(Shape.of(5), header.shape());
    assertEquals(
        Shape.of(), parse("{'descr': '|u1', 'fortran_order': False, 'shape': ()}").shape());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '#',
      quoteCharacter = '`',
      value = {
        "'<f12'#a.astype('float64')",
        "'<c32'#a.astype('complex128')",
        "'|b2'#'|b2'",
        "'<u8'#wider than BIGINT",
        "'<U12'#strings",
        "'|S5'#strings",
        "'|O'#Python objects",
        "'<M8[ns]'#dates",
        "'|V16'#structured or raw",
        "[('a', '<f4')]#structured",
        "'<f16'#'<f16'",
        "'|f4'#'|f4'",
        "'|d'#'|d'",
        "'<float32'#'<float32'",
        "'F4'#'F4'",
        "'f8,'#'f8,'",
        "'g'#a.astype('float64')",
        "''#''",
      })
  void refusesOtherTypesByName(String descr, String named) {
    String message = refusal("{'descr': " + descr + ", 'fortran_order': False, 'shape': (3, 5), }");
    assertTrue(message.contains(named), message);
    assertTrue(message.contains("int8, int16"), message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 5)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (03, 5)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} + {}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (3,)}",
        "__import__('os')",
      })
  void refusesEverythingElse(String dict) {
    assertTrue(refusal(dict).startsWith("malformed header: found "), refusal(dict));
  }

  @ParameterizedTest
  @CsvSource({
    "f8, FLOAT64",
    "<d, FLOAT64",
    "=d, FLOAT64",
    "d, FLOAT64",
    "double, FLOAT64",
    "float, FLOAT64",
    "float64, FLOAT64",
    "e, FLOAT16",
    "<f, FLOAT32",
    "single, FLOAT32",
    "F, COMPLEX64",
    ">D, COMPLEX128",
    "complex, COMPLEX128",
    "?, BOOL",
    "|?, BOOL",
    "bool, BOOL",
    "b, INT8",
    ">b, INT8",
    "B, UINT8",
    "|u1, UINT8",
    "<h, INT16",
    ">H, UINT16",
    "i, INT32",
    "I, UINT32",
    "q, INT64",
    "l, INT64",
    "int_, INT64",
    "intp, INT64"
  })
  void readsEverySpellingOfNumpys(String descr, NpyType type) {
    NpyHeader header =
        parse("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3, 5), }");
    assertEquals(type, header.type());
    assertEquals(descr.startsWith(">"), header.bigEndian());
  }

  @Test
  void version3HasNoNumbersOfPython2() {
    String dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 5), }";
    assertEquals(Shape.of(3, 5), NpyHeader.parse(NpyFixture.header(dict, 2)).shape());
    assertThrows(IllegalArgumentException.class, () -> NpyHeader.parse(NpyFixture.header(dict, 3)));
  }

  @Test
  void refusesShapesThatCannotBe() {
    String huge = "{'descr': '<c16', 'fortran_order': False, 'shape': (4611686018427387904, 4)}";
    assertTrue(refusal(huge).contains("2^63"), refusal(huge));
    String bytes = "{'descr': '<c16', 'fortran_order': False, 'shape': (1152921504606846976,)}";
    assertTrue(refusal(bytes).contains("2^63"), refusal(bytes));
  }

  @Test
  void survivesDamage() {
    byte[] good =
        NpyFixture.header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }", 1);
    Random random = new Random(11);
    for (int i = 0; i < 5000; i++) {
      byte[] bad = good.clone();
      for (int changes = 0; changes <= random.nextInt(3); changes++) {
        bad[random.nextInt(bad.length)] = (byte) random.nextInt(256);
      }
      try {
        int bytes = NpyHeader.headerBytes(Arrays.copyOf(bad, NpyHeader.PREFIX_BYTES));
        NpyHeader.parse(Arrays.copyOf(bad, Math.min(bytes, 4096)));
      } catch (IllegalArgumentException e) {
        assertTrue(e.getMessage().length() > 10);
      }
    }
  }

  @Test
  void namesAreNumpys() {
    assertEquals(NpyType.FLOAT32, NpyType.byName(" Float32 "));
    assertEquals(NpyType.FLOAT32, NpyType.byName("<f4"));
    assertEquals(NpyType.FLOAT32, NpyType.byName(">f4"));
    assertEquals(NpyType.UINT8, NpyType.byName("u1"));
    assertEquals(NpyType.BOOL, NpyType.byName("bool"));
    assertEquals(NpyType.BOOL, NpyType.byName("|b1"));
    assertEquals(null, NpyType.byName("b"));
    assertEquals(null, NpyType.byName("f"));
    assertEquals(null, NpyType.byName(""));
  }
}

package org.tilespark.spark.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.tilespark.arrow.store.ImageMemory;
import org.tilespark.arrow.store.RowImage;
import org.tilespark.spark.error.StoppedException;
import org.tilespark.spark.runtime.ExecutorRuntime;
import org.tilespark.spark.testing.SparkTest;

/** Batches whose store ends, as it does when the application stops. */
class ImageBatchTest extends SparkTest {
  private static final int ROW_BYTES = 200_000; // more than is written at once

  private CacheStore store;
  private ImageMemory memory;

  @BeforeEach
  void open() {
    store = new CacheStore(ExecutorRuntime.current());
    memory = store.newMemory();
  }

  @AfterEach
  void nothingIsHeld() {
    assertEquals(0, store.budget().usedBytes());
  }

  /** Rows that hold their own number in each value. */
  private ImageBatch batch(int rows) {
    long[] images = new long[rows];
    for (int row = 0; row < rows; row++) {
      long address = memory.room(ROW_BYTES, 3);
      for (long at = 0; at < ROW_BYTES; at += Long.BYTES) {
        Platform.putLong(null, address + at, row);
      }
      images[row] = address - RowImage.HEADER_BYTES;
    }
    return new ImageBatch(new ImageBatch.Place(0, true), 3, images, memory, store);
  }

  private static void assertRows(ImageBatch batch, int rows) {
    try (ImageBatch.Rows read = batch.use()) {
      assertEquals(rows, read.count());
      UnsafeRow view = new UnsafeRow(3);
      for (int row = 0; row < rows; row++) {
        read.point(row, view);
        assertEquals(ROW_BYTES, view.getSizeInBytes());
        for (long at = 0; at < ROW_BYTES; at += Long.BYTES) {
          long value = Platform.getLong(view.getBaseObject(), view.getBaseOffset() + at);
          assertEquals(row, value, "row " + row);
        }
      }
    }
  }

  /** The bytes that {@code batch} is written as, while its store ends after the first row. */
  private byte[] writtenWhileTheStoreEnds(ImageBatch batch) throws Exception {
    ByteArrayOutputStream bytes =
        new ByteArrayOutputStream() {
          @Override
          public synchronized void write(byte[] b, int off, int len) {
            if (count > ROW_BYTES && count < 2 * ROW_BYTES) {
              store.close();
              assertTrue(store.budget().usedBytes() > 0, "freed while it is written");
            }
            super.write(b, off, len);
          }
        };
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(batch);
    }
    return bytes.toByteArray();
  }

  @Test
  void whoWritesABatchKeepsItsRows() throws Exception {
    ImageBatch batch = batch(5);
    memory.release(); // by its maker, whose task has ended
    byte[] written = writtenWhileTheStoreEnds(batch);
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(written))) {
      assertRows((ImageBatch) in.readObject(), 5);
    }
    assertThrows(StoppedException.class, batch::use);
  }

  @Test
  void whoReadsABatchKeepsItsRows() {
    ImageBatch batch = batch(2);
    memory.release();
    ImageBatch.Rows read = batch.use();
    store.close();
    batch.close();
    assertTrue(store.budget().usedBytes() > 0, "freed while it is read");
    assertRows(batch, 2);
    read.close();
    read.close(); // again, in vain
    assertThrows(
        StoppedException.class,
        () -> new ObjectOutputStream(new ByteArrayOutputStream()).writeObject(batch));
  }

  @Test
  void aBatchThatIsMadeAfterTheEndIsNotKept() {
    store.close();
    ImageBatch batch = batch(1);
    memory.release();
    assertEquals(0, store.budget().usedBytes());
    assertThrows(StoppedException.class, batch::use);
  }
}

/**
 * Codecs of stored chunks: bytes to bytes, on memory outside the heap. Start from {@link
 * org.tilespark.spark.source.codec.ByteCodec}. They validate everything that they decode, and do
 * not depend on a file format. Depends on libraries that Spark brings.
 */
package org.tilespark.spark.source.codec;

/**
 * Codecs of stored chunks: bytes to bytes, on memory outside the heap. Start from {@link
 * org.tilespark.spark.source.codec.ByteCodec}. They trust no byte of what they decode, and know no
 * format. Depends on libraries that Spark brings.
 */
package org.tilespark.spark.source.codec;

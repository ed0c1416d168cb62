/**
 * Arrays of Zarr, versions 2 and 3, as blocks. Start from {@link
 * org.tilespark.spark.source.zarr.ZarrSource}; {@link org.tilespark.spark.source.zarr.ZarrNode}
 * finds the metadata, {@link org.tilespark.spark.source.zarr.ZarrArray} is what they say.
 */
package org.tilespark.spark.source.zarr;

/** The data source for NIfTI files. */
package org.tilespark.spark.source.nifti;

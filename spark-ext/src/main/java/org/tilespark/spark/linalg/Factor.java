package org.tilespark.spark.linalg;

/** One resulting matrix of a factorisation, under its name. */
record Factor(String name, Dense matrix) {}

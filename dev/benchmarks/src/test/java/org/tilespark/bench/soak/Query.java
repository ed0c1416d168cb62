package org.tilespark.bench.soak;

import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * A query of an operator.
 *
 * @param inputs arrays; a frame of blocks is made of each
 * @param share share of the blocks that are there; elements of the others are 0
 * @param operator result of the frames
 * @param oracle result of the inputs, once the frames are made
 * @param error by how much an element may be off, of the same inputs
 */
record Query(
    List<Dense> inputs,
    double share,
    Function<List<Dataset<Row>>, Dataset<Row>> operator,
    Function<List<Dense>, Dense> oracle,
    ToDoubleFunction<List<Dense>> error) {}

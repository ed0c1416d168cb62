package org.tilespark.spark.source.npy;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.tilespark.spark.source.CoordinateFilter;

/** Takes a query's columns and its filters on places and sizes; the rest of its filters remain. */
final class NpyScanBuilder
    implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
  private final NpyLayout layout;
  private final Configuration conf;
  private StructType columns;
  private Filter[] pushed = new Filter[0];

  NpyScanBuilder(NpyLayout layout, Configuration conf) {
    this.layout = layout;
    this.conf = conf;
    this.columns = layout.schema();
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    List<Filter> taken = new ArrayList<>();
    List<Filter> left = new ArrayList<>();
    for (Filter filter : filters) {
      (CoordinateFilter.supports(filter, layout.kind()) ? taken : left).add(filter);
    }
    pushed = taken.toArray(new Filter[0]);
    return left.toArray(new Filter[0]);
  }

  @Override
  public Filter[] pushedFilters() {
    return pushed.clone();
  }

  @Override
  public void pruneColumns(StructType requiredSchema) {
    columns = requiredSchema;
  }

  @Override
  public Scan build() {
    return new NpyScan(layout, columns, pushed, conf);
  }
}

package org.tilespark.spark.source;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** Accepts a query's columns and its filters on places and sizes; Spark evaluates other filters. */
final class SourceScanBuilder
    implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
  private final BlockSource source;
  private final Configuration conf;
  private StructType columns;
  private Filter[] pushed = new Filter[0];

  SourceScanBuilder(BlockSource source, Configuration conf) {
    this.source = source;
    this.conf = conf;
    this.columns = source.schema();
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    List<Filter> taken = new ArrayList<>();
    List<Filter> left = new ArrayList<>();
    for (Filter filter : filters) {
      (CoordinateFilter.supports(filter, source.axes()) ? taken : left).add(filter);
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
    return new SourceScan(source, columns, pushed, conf, Optional.empty());
  }
}

package org.tilespark.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tilespark.layout.ElementType;
import org.tilespark.spark.block.BlockKind;
import org.tilespark.spark.catalyst.Attributes;
import org.tilespark.spark.catalyst.BlockAggregate;
import org.tilespark.spark.catalyst.BlockExpression;
import org.tilespark.spark.catalyst.LogicalBlockNode;
import org.tilespark.spark.catalyst.PhysicalBlockNode;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.conf.TileSparkConf;
import org.tilespark.spark.fourier.FourierTestBase;
import org.tilespark.spark.linalg.KeptExec;
import org.tilespark.spark.multiply.MultiplyPanelsExec;
import org.tilespark.spark.nearest.LeftToSpark;
import org.tilespark.spark.nearest.NearestRows;
import org.tilespark.spark.nearest.NearestSpec;
import org.tilespark.spark.options.FftOptions;
import org.tilespark.spark.options.Metric;
import org.tilespark.spark.options.Missing;
import org.tilespark.spark.options.MultiplyOptions;
import org.tilespark.spark.options.RowOptions;
import org.tilespark.spark.reblock.CutSummary;
import org.tilespark.spark.testing.PlanNodes;
import org.tilespark.spark.testing.SparkTest;
import org.tilespark.spark.testing.TestField;
import org.tilespark.spark.testing.TestProduct;
import org.tilespark.spark.transfer.Transfers;
import org.tilespark.spark.validate.ArrayFact;
import org.tilespark.spark.vectors.VectorLength;

/**
 * A query that is written twice has other attribute ids and the same canonical plan, by which Spark
 * finds what it has cached or can read from one exchange.
 */
class EqualPlansTest extends SparkTest {
  /** Each gives a query by new calls of our operators; all but validate, which has a UDF. */
  private static final Map<String, Supplier<Dataset<Row>>> QUERIES = new LinkedHashMap<>();

  private static final TestProduct A = TestProduct.random(ElementType.FLOAT32, 96, 64, 1);
  private static final TestProduct B = TestProduct.random(ElementType.FLOAT32, 64, 16, 2);
  private static final MultiplyOptions BROADCAST =
      MultiplyOptions.defaults().withStrategy(MultiplyOptions.Strategy.BROADCAST);

  @TempDir static Path dir;

  @BeforeAll
  static void queries() {
    String file = dir.resolve("a.npy").toString();
    MatrixBlocks.withExtents(A.frame(spark, 16, 64), 96, 64).write().format("npy").save(file);
    QUERIES.put("npy", () -> spark.read().format("npy").option("blockShape", "16,64").load(file));
    QUERIES.put("reblock in one task", EqualPlansTest::inOneTask);
    Dataset<Row> a = A.stated(A.frame(spark, 16, 64), 16, 64).localCheckpoint();
    Dataset<Row> b = B.stated(B.frame(spark, 16, 8), 16, 8).localCheckpoint();
    matrices(a);
    products(a, b);
    Dataset<Row> cached = A.stated(A.frame(spark, 16, 64), 16, 64).cache();
    cached.count();
    QUERIES.put("reblock of cached blocks", () -> MatrixBlocks.reblock(cached, 24, 8));
    int[] shape = {8, 6, 10};
    Dataset<Row> v =
        FourierTestBase.stated(
                TestField.random(3, true, shape).blocks(spark, ElementType.FLOAT32, true, 2, 6, 10),
                shape,
                2,
                6,
                10)
            .localCheckpoint();
    volumes(v);
    transforms(v);
  }

  /** A small array, planned where nobody has asked for a count of partitions. */
  private static Dataset<Row> inOneTask() {
    String asked = spark.conf().get("spark.sql.shuffle.partitions");
    spark.conf().unset("spark.sql.shuffle.partitions");
    try {
      Dataset<Row> blocks = MatrixBlocks.reblock(QUERIES.get("npy").get(), 24, 8);
      plan(blocks).executedPlan();
      return blocks;
    } finally {
      spark.conf().set("spark.sql.shuffle.partitions", asked);
    }
  }

  /** Neighbours of vectors that are spread over several tasks, planned so. */
  private static Dataset<Row> merged(Dataset<Row> a) {
    String tile = TileSparkConf.MULTIPLY_TILE_SIZE.name();
    String batch = TileSparkConf.BATCH_SIZE.name();
    spark.conf().set(tile, "16k");
    spark.conf().set(batch, "128b");
    try {
      Dataset<Row> found = MatrixBlocks.knn(a, a, 3, Metric.INNER);
      plan(found).executedPlan();
      return found;
    } finally {
      spark.conf().unset(tile);
      spark.conf().unset(batch);
    }
  }

  private static void matrices(Dataset<Row> a) {
    QUERIES.put("transpose", () -> MatrixBlocks.transpose(a));
    QUERIES.put("slice", () -> MatrixBlocks.slice(a, "1:"));
    QUERIES.put("another slice", () -> MatrixBlocks.slice(a, "::2"));
    QUERIES.put("scale", () -> MatrixBlocks.scale(a, 2));
    QUERIES.put("scale by another factor", () -> MatrixBlocks.scale(a, 3));
    QUERIES.put("pack", () -> Transfers.pack(BlockKind.MATRIX, a));
    QUERIES.put("pack as another type", () -> Transfers.pack(BlockKind.MATRIX, a, "'float16'"));
    Supplier<Dataset<Row>> bytes = () -> Transfers.pack(BlockKind.MATRIX, a);
    QUERIES.put("pack and unpack", () -> Transfers.unpack(BlockKind.MATRIX, bytes.get()));
    QUERIES.put("add", () -> MatrixBlocks.add(a, MatrixBlocks.scale(a, 2)));
    QUERIES.put("map", () -> MatrixBlocks.map(a, "v * 2"));
    QUERIES.put("map by another expression", () -> MatrixBlocks.map(a, "v * 3"));
    QUERIES.put("zip", () -> MatrixBlocks.zip(a, MatrixBlocks.map(a, "v + 1"), "a - b"));
    Dataset<Row> row = MatrixBlocks.withExtents(a.where("row = 0 AND false"), 1, 64);
    QUERIES.put("zip with a row", () -> MatrixBlocks.zip(a, row, "a - b"));
    Dataset<Row> samples = a.withColumn("sample", new Column("row").mod(2));
    Dataset<Row> others = a.withColumn("sample", new Column("row").mod(3));
    QUERIES.put("concat of samples", () -> MatrixBlocks.concat("row", samples, others));
    QUERIES.put("cuts", () -> cuts(a));
    QUERIES.put("add of another cut", () -> MatrixBlocks.add(a, MatrixBlocks.reblock(a, 24, 8)));
    QUERIES.put("center", () -> MatrixBlocks.center(a));
    QUERIES.put("reblock", () -> MatrixBlocks.reblock(a, 24, 8));
    QUERIES.put("reblock to another shape", () -> MatrixBlocks.reblock(a, 24, 16));
    QUERIES.put("reblock of what lies right", () -> MatrixBlocks.reblock(a, 16, 64));
    QUERIES.put("pad", () -> MatrixBlocks.pad(a, "3", "reflect"));
    QUERIES.put("pad otherwise", () -> MatrixBlocks.pad(a, "3", "wrap"));
    QUERIES.put("halo", () -> MatrixBlocks.halo(a, "3", "reflect"));
    QUERIES.put("trim", () -> MatrixBlocks.trim(MatrixBlocks.halo(a, "3")));
    QUERIES.put("trim of another halo", () -> MatrixBlocks.trim(MatrixBlocks.halo(a, "2")));
    QUERIES.put("reshape", () -> MatrixBlocks.reshape(a, "1,-1"));
    QUERIES.put("roll", () -> MatrixBlocks.roll(a, "3,0"));
    QUERIES.put(
        "reblock without extents",
        () -> MatrixBlocks.reblock(MatrixBlocks.withoutExtents(a), 24, 8));
    for (boolean firstNull : List.of(false, true)) {
      QUERIES.put("fact of arrays, first null " + firstNull, () -> fact(a, firstNull));
    }
    QUERIES.put("rows", () -> MatrixBlocks.toRows(MatrixBlocks.scale(a, 2), "features"));
    QUERIES.put("elements", () -> MatrixBlocks.toCells(a));
    QUERIES.put("blocks of elements", () -> MatrixBlocks.fromCells(MatrixBlocks.toCells(a), 8, 8));
    Supplier<Dataset<Row>> vectors = () -> spark.range(6).selectExpr("id", "array(id, 1L) AS v");
    QUERIES.put("blocks of rows", () -> MatrixBlocks.fromRows(vectors.get(), "v"));
    RowOptions sorted = RowOptions.defaults().withId("id").withOrderBy("id");
    QUERIES.put(
        "covariances",
        () ->
            MatrixBlocks.cov(
                MatrixBlocks.fromRows(vectors.get().selectExpr("array(id, 0.5D) AS v"), "v")));
    QUERIES.put("blocks of sorted rows", () -> MatrixBlocks.fromRows(vectors.get(), "v", sorted));
    QUERIES.put(
        "ids", () -> MatrixBlocks.rowIds(MatrixBlocks.fromRows(vectors.get(), "v", sorted)));
    QUERIES.put(
        "lengths",
        () ->
            mapped(
                vectors.get(),
                plan -> {
                  Expression length =
                      new VectorLength(false, ScalaInterop.<Expression>seq(plan.output().last()));
                  return new Project(
                      ScalaInterop.<NamedExpression>seq(Attributes.alias(length, "length")), plan);
                }));
    QUERIES.put("nearest", () -> nearest(3));
    QUERIES.put("nearest, fewer", () -> nearest(2));
    QUERIES.put(
        "nearest by Spark",
        () -> mapped(vectors.get(), plan -> new LeftToSpark("not a column", plan)));
    Supplier<Dataset<Row>> square = () -> MatrixBlocks.slice(MatrixBlocks.gram(a), ":");
    QUERIES.put("singular values", () -> MatrixBlocks.svdvals(a));
    QUERIES.put("u", () -> MatrixBlocks.svd(a).u());
    QUERIES.put("vt", () -> MatrixBlocks.svd(a).vt());
    QUERIES.put("inverse", () -> MatrixBlocks.pinv(a));
    // Planned as if there were more.
    Dataset<Row> tall = MatrixBlocks.withExtents(a, 1_000_000, 64);
    QUERIES.put("q of strips", () -> MatrixBlocks.qr(tall).q());
    QUERIES.put("components", () -> MatrixBlocks.pca(a, 2).components());
    Dataset<Row> large = MatrixBlocks.withExtents(a, 3000, 2000);
    QUERIES.put("components by products", () -> MatrixBlocks.pca(large, 2).components());
    large.createOrReplaceTempView("large");
    QUERIES.put(
        "some singular values",
        () ->
            MatrixBlocks.factor(
                spark.sql("SELECT * FROM matrix_svd(TABLE(large), k => 5, powerSteps => 0)"), "s"));
    QUERIES.put("inverse with a tolerance", () -> MatrixBlocks.pinv(a, 0.5));
    QUERIES.put("solutions", () -> MatrixBlocks.solve(square.get(), square.get()));
    QUERIES.put(
        "solutions of strips",
        () ->
            MatrixBlocks.solve(square.get(), square.get().withColumn("sample", functions.lit(1))));
    QUERIES.put("a chain", () -> MatrixBlocks.scale(MatrixBlocks.transpose(a), 2));
  }

  private static Dataset<Row> nearest(int k) {
    String vector = "array(CAST(id AS FLOAT), 1f) AS ";
    LogicalPlan right = plan(spark.range(9).selectExpr(vector + "w")).analyzed();
    return mapped(
        spark.range(6).selectExpr("id", vector + "v"),
        left ->
            new NearestRows(
                new NearestSpec(k, Metric.INNER, "vector_inner_product", false),
                ScalaInterop.<Attribute>seq(left.output().last(), right.output().last()),
                ScalaInterop.<Attribute>emptySeq(),
                left,
                right));
  }

  private static Dataset<Row> fact(Dataset<Row> a, boolean firstNull) {
    return mapped(
        a,
        plan -> {
          Attribute values = plan.output().last();
          Expression fact = new ArrayFact(firstNull, ScalaInterop.<Expression>seq(values));
          return new Project(
              ScalaInterop.<NamedExpression>seq(Attributes.alias(fact, "fact")), plan);
        });
  }

  private static Dataset<Row> cuts(Dataset<Row> a) {
    return mapped(
        a,
        plan -> {
          List<Attribute> columns = ScalaInterop.list(plan.output());
          Expression cut =
              new CutSummary(
                      BlockKind.MATRIX,
                      ScalaInterop.none(),
                      ScalaInterop.<Expression>seq(columns.subList(0, 4)),
                      0,
                      0)
                  .toAggregateExpression();
          return new Aggregate(
              ScalaInterop.<Expression>emptySeq(),
              ScalaInterop.<NamedExpression>seq(Attributes.alias(cut, "cut")),
              plan,
              ScalaInterop.none());
        });
  }

  private static void products(Dataset<Row> a, Dataset<Row> b) {
    Supplier<Dataset<Row>> byRow = () -> A.onGrid(spark, 8, 64).repartition(4, new Column("row"));
    Supplier<Dataset<Row>> byCol = () -> A.onGrid(spark, 96, 4).repartition(4, new Column("col"));
    Supplier<Dataset<Row>> bByRow = () -> B.onGrid(spark, 4, 16).repartition(4, new Column("row"));
    Dataset<Row> aOfSamples = a.withColumn("sample", new Column("row").mod(2));
    Dataset<Row> bOfSamples = b.withColumn("sample", new Column("row").mod(2));
    QUERIES.put(
        "neighbours in order", () -> MatrixBlocks.knn(a, a, 2, Metric.INNER).orderBy("rank"));
    QUERIES.put("cuboids", () -> MatrixBlocks.multiply(a, b, TestProduct.cuboid(2, 2, 1)));
    QUERIES.put("cuboids and sums", () -> MatrixBlocks.multiply(a, b, TestProduct.cuboid(1, 2, 2)));
    QUERIES.put(
        "cuboids of several matrices",
        () ->
            MatrixBlocks.multiply(
                aOfSamples, bOfSamples, TestProduct.cuboid(2, 1, 1).withMissing(Missing.ZERO)));
    QUERIES.put(
        "rows in place", () -> MatrixBlocks.multiply(byRow.get(), b, TestProduct.cuboid(4, 1, 1)));
    QUERIES.put(
        "columns in place",
        () ->
            MatrixBlocks.multiply(
                b,
                byRow.get(),
                TestProduct.cuboid(1, 4, 1).withTransposeA(true).withTransposeB(true)));
    QUERIES.put(
        "sums in place", () -> MatrixBlocks.multiply(byCol.get(), b, TestProduct.cuboid(1, 1, 4)));
    QUERIES.put(
        "both in place",
        () -> MatrixBlocks.multiply(byCol.get(), bByRow.get(), TestProduct.cuboid(1, 1, 4)));
    QUERIES.put("B broadcast", () -> MatrixBlocks.multiply(a, b, BROADCAST));
    QUERIES.put(
        "A broadcast",
        () -> MatrixBlocks.multiply(b, a, BROADCAST.withTransposeA(true).withTransposeB(true)));
    QUERIES.put("sums of broadcast", () -> MatrixBlocks.multiply(byCol.get(), b, BROADCAST));
    QUERIES.put("gram", () -> MatrixBlocks.gram(a));
    QUERIES.put("knn", () -> MatrixBlocks.knn(a, a, 3, Metric.INNER));
    QUERIES.put("knn by another metric", () -> MatrixBlocks.knn(a, a, 3, Metric.COSINE));
    QUERIES.put("knn of several tasks", () -> merged(a));
    QUERIES.put("pairs", () -> MatrixBlocks.pairsAbove(a, a, 0.5, Metric.COSINE));
    QUERIES.put("gram in place", () -> MatrixBlocks.gram(byRow.get(), TestProduct.cuboid(1, 1, 4)));
  }

  private static void volumes(Dataset<Row> v) {
    QUERIES.put("permute", () -> VolumeBlocks.permute(v, "yzx"));
    QUERIES.put("permute otherwise", () -> VolumeBlocks.permute(v, "zxy"));
    QUERIES.put("volume reblock", () -> VolumeBlocks.reblock(v, 4, 3, 5));
    QUERIES.put("slabs", () -> VolumeBlocks.slabs(v, "y", 2));
    QUERIES.put("volume scale", () -> VolumeBlocks.scale(v, 2));
    QUERIES.put("volume add", () -> VolumeBlocks.add(v, VolumeBlocks.scale(v, 2)));
    QUERIES.put("pencils", () -> VolumeBlocks.pencils(v, "x", 3, 5));
  }

  private static void transforms(Dataset<Row> v) {
    FftOptions slabs = FftOptions.defaults().withDecomposition("slabs");
    Supplier<Dataset<Row>> fft = () -> VolumeBlocks.fft(v, slabs);
    QUERIES.put("fft in one task", () -> VolumeBlocks.fft(v));
    QUERIES.put("fft", fft);
    QUERIES.put("fft in pencils", () -> VolumeBlocks.fft(v, slabs.withDecomposition("pencils")));
    QUERIES.put("fft in order", () -> VolumeBlocks.fft(v, slabs.withOutput("natural")));
    QUERIES.put("fft without trend", () -> VolumeBlocks.fft(v, slabs.withDetrend("linear")));
    QUERIES.put("ifft", () -> VolumeBlocks.ifft(fft.get(), slabs));
    QUERIES.put("low pass", () -> VolumeBlocks.lowPass(fft.get(), 0.3));
    QUERIES.put("pointwise", () -> VolumeBlocks.multiplyPointwise(fft.get(), fft.get()));
    QUERIES.put("power", () -> VolumeBlocks.powerSpectrum(fft.get()));
    QUERIES.put("radial average", () -> VolumeBlocks.radialAverage(fft.get()));
    QUERIES.put("frequencies", () -> VolumeBlocks.frequencies(fft.get()));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void equalQueriesHaveEqualCanonicalPlans(boolean adaptive) {
    with(
        Map.of(
            "spark.sql.adaptive.enabled",
            Boolean.toString(adaptive),
            TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(),
            "0"),
        () -> {
          List<String> different = new ArrayList<>();
          Map<SparkPlan, String> names = new LinkedHashMap<>();
          QUERIES.forEach(
              (name, query) -> {
                Dataset<Row> once = query.get();
                Dataset<Row> again = query.get();
                LogicalPlan logical = plan(once).normalized().canonicalized();
                SparkPlan physical = plan(once).executedPlan().canonicalized();
                if (!logical.equals(plan(again).normalized().canonicalized())
                    || !physical.equals(plan(again).executedPlan().canonicalized())
                    || physical.hashCode()
                        != plan(again).executedPlan().canonicalized().hashCode()) {
                  different.add(name + "\n" + explained(once) + "\n" + explained(again));
                }
                String other = names.put(physical, name);
                assertTrue(other == null, () -> name + " has the plan of " + other);
              });
          assertEquals(List.of(), different);
          assertEquals(QUERIES.size(), names.size());
        });
  }

  /** Spark copies nodes and expressions by reflection, from the fields that they state. */
  @Test
  void copiesOfNodesAreEqual() {
    Set<String> copied = new TreeSet<>();
    with(
        Map.of("spark.sql.adaptive.enabled", "false"),
        () ->
            QUERIES.forEach(
                (name, query) -> {
                  QueryExecution plans = plan(query.get());
                  for (LogicalPlan root : List.of(plans.analyzed(), plans.optimizedPlan())) {
                    for (LogicalPlan node : below(root)) {
                      copied.addAll(copies(node, LogicalBlockNode.class));
                      for (Expression expression :
                          ScalaInterop.<Expression>list(node.expressions())) {
                        for (Expression part : below(expression)) {
                          copied.addAll(copies(part, BlockExpression.class));
                          copied.addAll(copies(part, BlockAggregate.class));
                        }
                      }
                    }
                  }
                  for (SparkPlan root : List.of(plans.sparkPlan(), plans.executedPlan())) {
                    for (SparkPlan node : below(root)) {
                      copied.addAll(copies(node, PhysicalBlockNode.class));
                    }
                  }
                }));
    Set<String> all = new TreeSet<>();
    for (JavaClass type : new ClassFileImporter().importPackages("org.tilespark.spark")) {
      if (!type.getModifiers().contains(JavaModifier.ABSTRACT)
          && Stream.of(
                  LogicalBlockNode.class,
                  PhysicalBlockNode.class,
                  BlockExpression.class,
                  BlockAggregate.class)
              .anyMatch(type::isAssignableTo)) {
        all.add(type.getSimpleName());
      }
    }
    assertTrue(all.size() > 25, all::toString);
    assertEquals(all, copied, "the queries of this test hold each node and expression");
  }

  /** All nodes of a tree, the root first, and those of plans whose rows are kept. */
  @SuppressWarnings("unchecked") // a plan of the same kind
  private static <T extends TreeNode<T>> List<T> below(T root) {
    List<T> nodes = new ArrayList<>(List.of(root));
    for (int i = 0; i < nodes.size(); i++) {
      T node = nodes.get(i);
      nodes.addAll(ScalaInterop.<T>list(node.children()));
      if (node instanceof InMemoryRelation relation
          && relation.cachedPlan() instanceof KeptExec kept) {
        nodes.add((T) (TreeNode<?>) kept.query());
      }
      if (node instanceof InMemoryTableScanExec scan
          && scan.relation().cachedPlan() instanceof KeptExec kept) {
        nodes.add((T) (TreeNode<?>) kept);
      }
    }
    return nodes;
  }

  /** The name of a node's class if it is ours; its copies are equal to it. */
  private static <T extends TreeNode<T>> Set<String> copies(T node, Class<? extends T> ours) {
    if (!ours.isInstance(node)) {
      return Set.of();
    }
    Object[] fields =
        IntStream.range(0, node.productArity()).mapToObj(node::productElement).toArray();
    for (T copy : List.of(node.makeCopy(fields), node.clone())) {
      assertNotSame(node, copy);
      assertEquals(node, copy);
      assertEquals(node.hashCode(), copy.hashCode());
    }
    return Set.of(node.getClass().getSimpleName());
  }

  @ParameterizedTest
  @ValueSource(strings = {"cuboids", "rows in place", "columns in place", "sums in place"})
  void aSelfJoinOfAProductComputesItOnce(String name) {
    with(
        Map.of(
            "spark.sql.adaptive.enabled",
            "false",
            "spark.sql.autoBroadcastJoinThreshold",
            "-1",
            TileSparkConf.MULTIPLY_BROADCAST_SIZE.name(),
            "0"),
        () -> {
          Dataset<Row> product = QUERIES.get(name).get();
          List<MultiplyPanelsExec> alone = PlanNodes.all(plan(product), MultiplyPanelsExec.class);
          assertEquals(
              name.contains("in place"),
              alone.get(0).prediction().chosen().contains("in place"),
              () -> explained(product));
          Dataset<Row> joined =
              product
                  .as("a")
                  .join(
                      product.as("b").hint("merge"),
                      new Column("a.rows").equalTo(new Column("b.rows")));
          assertEquals(
              1,
              PlanNodes.all(plan(joined), MultiplyPanelsExec.class).size(),
              () -> explained(joined));
          assertFalse(
              PlanNodes.all(plan(joined), ReusedExchangeExec.class).isEmpty(),
              () -> explained(joined));
          long blocks = product.count();
          assertEquals(blocks * blocks, joined.count());
        });
  }
}

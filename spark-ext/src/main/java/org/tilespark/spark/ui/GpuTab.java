package org.tilespark.spark.ui;

import jakarta.servlet.http.HttpServletRequest;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils$;
import org.apache.spark.ui.WebUIPage;
import org.json4s.JValue;
import org.tilespark.spark.catalyst.ScalaInterop;
import org.tilespark.spark.shuffle.TileShuffleManager;
import scala.collection.immutable.Seq;
import scala.xml.Node;
import scala.xml.Unparsed;

/**
 * The tab {@code GPU} of Spark's web UI, and the same data as JSON at {@code /GPU/json} and {@code
 * /GPU/shuffles/json}.
 *
 * <p>Spark's UI classes are not a public interface. The members used here are the same in 4.0 to
 * 4.3, except for the number of flags of the page header.
 */
public final class GpuTab extends SparkUITab {
  /** The tab's title, and its path. */
  public static final String NAME = "GPU";

  private final ExecutorBoard board;
  private final Method header = headerMethod();

  private GpuTab(SparkUI ui, String name, ExecutorBoard board) {
    super(ui, name);
    this.board = board;
    attachPage(new Page("", board::entries));
    attachPage(new Page("shuffles", TileShuffleManager::served));
  }

  /**
   * Adds the tab to a UI, whether or not it is already serving.
   *
   * @param board the board whose current content it shows
   * @throws IllegalStateException if this version of Spark's UI is too different
   */
  public static void attach(SparkUI ui, ExecutorBoard board) {
    GpuTab ignored = attach(ui, NAME, board);
  }

  static GpuTab attach(SparkUI ui, String name, ExecutorBoard board) {
    GpuTab tab = new GpuTab(ui, name, board);
    ui.attachTab(tab);
    return tab;
  }

  /** The tab's page; at each path it has other JSON. */
  private final class Page extends WebUIPage {
    private final Supplier<List<?>> json;

    private Page(String path, Supplier<List<?>> json) {
      super(path);
      this.json = json;
    }

    @Override
    public Seq<Node> render(HttpServletRequest request) {
      String page = GpuHtml.of(board.entries(), TileShuffleManager.served());
      return headed(request, ScalaInterop.seq(new Unparsed(page)));
    }

    @Override
    public JValue renderJson(HttpServletRequest request) {
      return RecordJson.of(json.get());
    }
  }

  /**
   * Spark's frame around a page: the first four arguments are ours, and flags have their defaults.
   */
  private Seq<Node> headed(HttpServletRequest request, Seq<Node> content) {
    UIUtils$ utils = UIUtils$.MODULE$;
    Object[] arguments = new Object[header.getParameterCount()];
    arguments[0] = request;
    arguments[1] = name();
    arguments[2] = ScalaInterop.supplier(() -> content);
    arguments[3] = this;
    try {
      for (int i = 4; i < arguments.length; i++) {
        arguments[i] = defaultOf(i).invoke(utils);
      }
      @SuppressWarnings("unchecked") // as UIUtils declares it
      Seq<Node> page = (Seq<Node>) header.invoke(utils, arguments);
      return page;
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException("Spark's page header failed", e);
    }
  }

  private static Method headerMethod() {
    Method method =
        Arrays.stream(UIUtils$.class.getMethods())
            .filter(candidate -> candidate.getName().equals("headerSparkPage"))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("UIUtils has no headerSparkPage"));
    Class<?>[] types = method.getParameterTypes();
    if (types.length < 4
        || types[0] != HttpServletRequest.class
        || types[1] != String.class
        || types[2] != scala.Function0.class
        || types[3] != SparkUITab.class) {
      throw new IllegalStateException("Unknown form of UIUtils.headerSparkPage: " + method);
    }
    for (int i = 4; i < types.length; i++) {
      defaultOf(i);
    }
    return method;
  }

  /** Scala's default of parameter {@code i}, counted from 0. */
  private static Method defaultOf(int i) {
    try {
      return UIUtils$.class.getMethod("headerSparkPage$default$" + (i + 1));
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("headerSparkPage has no default for parameter " + i, e);
    }
  }
}

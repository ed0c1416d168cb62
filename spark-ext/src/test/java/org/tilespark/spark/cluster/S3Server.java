package org.tilespark.spark.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A server that speaks S3 over http, in a JVM of its own: it brings other versions of libraries
 * that Spark has. The property {@code tilespark.test.s3Server} is its jar, which {@code -Pfull}
 * copies.
 */
public final class S3Server implements AutoCloseable {
  /** The bucket that is there from the beginning. */
  public static final String BUCKET = "arrays";

  private static final Duration LIMIT = Duration.ofMinutes(3);

  private final ChildJvm process;
  private final int port;

  private S3Server(ChildJvm process, int port) {
    this.process = process;
    this.port = port;
  }

  /**
   * Starts it, and returns when it answers.
   *
   * @param directory an existing directory for all it writes
   */
  public static S3Server start(Path directory) throws IOException, InterruptedException {
    Path jar = Path.of(System.getProperty("tilespark.test.s3Server"));
    if (!Files.exists(jar)) {
      throw new IllegalStateException("no S3 server at " + jar);
    }
    Path entry = directory.resolve("entry");
    ChildJvm.entryOnly(entry);
    int port = Ports.free();
    String store = "--com.adobe.testing.s3mock.store.";
    ChildJvm process =
        ChildJvm.start(
            jar + ":" + entry,
            "org.springframework.boot.loader.launch.JarLauncher",
            List.of(
                "--com.adobe.testing.s3mock.httpPort=" + port,
                "--com.adobe.testing.s3mock.vectors.httpPort=0",
                "--com.adobe.testing.s3mock.vectors.httpsPort=0",
                "--server.port=0",
                store + "initialBuckets=" + BUCKET,
                store + "root=" + Files.createDirectory(directory.resolve("objects"))),
            List.of("-Xmx256m"),
            Map.of(),
            directory.resolve("s3-server.log"));
    S3Server server = new S3Server(process, port);
    try {
      Ports.await(port, process::isAlive, process::printed, LIMIT);
    } catch (InterruptedException | RuntimeException | Error e) {
      server.close();
      throw e;
    }
    return server;
  }

  /** Hadoop's configuration by which {@code s3a://arrays/} is on this server. */
  public Map<String, String> conf() {
    return Map.ofEntries(
        Map.entry("fs.s3a.endpoint", "http://127.0.0.1:" + port),
        Map.entry("fs.s3a.endpoint.region", "us-east-1"),
        Map.entry("fs.s3a.path.style.access", "true"),
        Map.entry("fs.s3a.connection.ssl.enabled", "false"),
        Map.entry(
            "fs.s3a.aws.credentials.provider",
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"),
        Map.entry("fs.s3a.access.key", "any"),
        Map.entry("fs.s3a.secret.key", "any"),
        Map.entry("fs.s3a.attempts.maximum", "1"),
        Map.entry("fs.s3a.retry.limit", "1"),
        Map.entry("fs.s3a.retry.interval", "50ms"),
        Map.entry("fs.s3a.connection.timeout", "30s"));
  }

  @Override
  public void close() {
    process.close();
  }
}
